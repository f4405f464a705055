package envoy

import (
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/a1009580/leasehold/limiter"
)

// violated says that a rule in quota mode had too little.
func violated(all []limiter.PartDecision) bool {
	for i := range all {
		if all[i].Rule != nil && all[i].Rule.QuotaMode && !all[i].Reason.Allows() {
			return true
		}
	}
	return false
}

// metadata tells other filters of the proxy what was asked, in the form that
// envoyproxy/ratelimit gives it, and which descriptors in quota mode had too
// little.
func metadata(r *rls.RateLimitRequest, all []limiter.PartDecision) *structpb.Struct {
	fields := map[string]*structpb.Value{"domain": structpb.NewStringValue(r.GetDomain())}
	if n := r.GetHitsAddend(); n > 0 {
		fields["hitsAddend"] = structpb.NewNumberValue(float64(n))
	}
	descriptors := make([]*structpb.Value, len(r.GetDescriptors()))
	for i, d := range r.GetDescriptors() {
		entries := make([]*structpb.Value, len(d.GetEntries()))
		for j, e := range d.GetEntries() {
			entries[j] = structpb.NewStringValue(e.GetKey() + "=" + e.GetValue())
		}
		descriptors[i] = structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{"entries": list(entries)}})
	}
	fields["descriptors"] = list(descriptors)
	quotaMode := false
	var violations []*structpb.Value
	for i := range all {
		if all[i].Rule == nil || !all[i].Rule.QuotaMode {
			continue
		}
		quotaMode = true
		if !all[i].Reason.Allows() {
			violations = append(violations, structpb.NewNumberValue(float64(i)))
		}
	}
	fields["quotaModeEnabled"] = structpb.NewBoolValue(quotaMode)
	if len(violations) > 0 {
		fields["quotaModeViolations"] = list(violations)
	}
	return &structpb.Struct{Fields: fields}
}

func list(values []*structpb.Value) *structpb.Value {
	return structpb.NewListValue(&structpb.ListValue{Values: values})
}
