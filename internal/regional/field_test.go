package regional

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	pb "github.com/a1009580/leasehold/api/leasehold/v1"
)

func TestCOST07_AnAbsentCostIsOneAndZeroIsAPeek(t *testing.T) {
	run(t, perKey("{tokens: 5, per: 1h}"), func(t *testing.T, r *rig) {
		stub := pb.NewLimiterClient(r.conn)
		overGRPC := func(key string, cost *int64) int {
			a, err := stub.Check(t.Context(), &pb.CheckRequest{Domain: "api", Descriptor_: []*pb.Entry{{Key: "api_key", Value: []byte(key)}}, Cost: cost})
			require.NoError(t, err)
			if a.GetAllowed() {
				return http.StatusOK
			}
			return http.StatusTooManyRequests
		}
		for form, ask := range map[string]struct{ peek, take func(key string) int }{
			"query": {
				func(key string) int { return r.get("/v1/check?domain=api&cost=0&api_key=" + key).code },
				func(key string) int { return r.get("/v1/check?domain=api&api_key=" + key).code },
			},
			"body": {
				func(key string) int {
					return r.post(fmt.Sprintf(`{"domain": "api", "descriptor": {"api_key": %q}, "cost": 0}`, key)).code
				},
				func(key string) int {
					return r.post(fmt.Sprintf(`{"domain": "api", "descriptor": {"api_key": %q}}`, key)).code
				},
			},
			"grpc": {
				func(key string) int { return overGRPC(key, new(int64)) },
				func(key string) int { return overGRPC(key, nil) },
			},
		} {
			for range 100 {
				require.Equal(t, http.StatusOK, ask.peek(form), form)
			}
			for range 5 {
				require.Equal(t, http.StatusOK, ask.take(form), form)
			}
			assert.Equal(t, http.StatusTooManyRequests, ask.peek(form), form)
			assert.Equal(t, http.StatusTooManyRequests, ask.take(form), form)
		}
	})
}
