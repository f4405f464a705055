package grpclimit

import (
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/a1009580/leasehold/limiter"
)

// infoDomain is the domain of every ErrorInfo, by which its reasons are told from
// those of others.
const infoDomain = "leasehold"

// denial is how a denied call ends. Its RetryInfo is exact; without one, the call
// is denied for good.
func denial(d *limiter.Decision, all []limiter.Standing) error {
	reason := d.Reason.String()
	info := &errdetails.ErrorInfo{Reason: strings.ToUpper(reason), Domain: infoDomain}
	s := status.New(codes.ResourceExhausted, describe(d))
	failure := &errdetails.QuotaFailure{}
	for i := range all {
		if all[i].Short {
			failure.Violations = append(failure.Violations, &errdetails.QuotaFailure_Violation{
				Subject: all[i].Quota.ID, Description: "has too few tokens for the call",
			})
		}
	}
	var err error
	switch {
	case d.RetryAfter > 0:
		s, err = s.WithDetails(info, failure, &errdetails.RetryInfo{RetryDelay: durationpb.New(d.RetryAfter)})
	default:
		s, err = s.WithDetails(info, failure)
	}
	if err != nil { // of messages that cannot be encoded, which these are not
		return status.Error(codes.Internal, err.Error())
	}
	return s.Err()
}

// describe says in words why a call was denied.
func describe(d *limiter.Decision) string {
	switch d.Reason {
	case limiter.NoLease:
		return "this region holds no tokens of quota " + d.Quota + " yet"
	case limiter.CutOff:
		return "this region is cut off from the coordinator and holds too few tokens of quota " + d.Quota
	case limiter.Impossible:
		return "the cost is above what quota " + d.Quota + " could ever admit at once"
	case limiter.Unmatched:
		return "no quota matches the call"
	default:
		return "quota " + d.Quota + " is used up"
	}
}
