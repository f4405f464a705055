package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/stretchr/testify/require"
)

// decision is what a region says of a request.
type decision struct {
	Allowed bool   `json:"allowed"`
	Reason  string `json:"reason"`
	Limit   int64  `json:"limit"`
	Most    int64  `json:"most"`
}

// decide asks a region about one request of the domain api.
func (n *node) decide(descriptor string, cost int64) decision {
	n.t.Helper()
	body := fmt.Sprintf(`{"domain":"api","descriptor":%s,"cost":%d}`, descriptor, cost)
	code, _, text := through(n.t, n.http, http.MethodPost, "/v1/check", map[string]string{"Content-Type": "application/json"}, body)
	require.Contains(n.t, []int{http.StatusOK, http.StatusTooManyRequests}, code, text)
	var d decision
	require.NoError(n.t, json.Unmarshal([]byte(text), &d), text)
	require.Equal(n.t, code == http.StatusOK, d.Allowed, text)
	return d
}
