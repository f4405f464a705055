package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/chaos/drill/proxy"
	"github.com/a1009580/leasehold/internal/overshoot"
)

// way is the way of one region to a coordinator, which can be cut in each direction.
type way struct {
	*proxy.Proxy

	address string // that the region dials
}

// newWay opens the way to an address.
func newWay(t *testing.T, to string) *way {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	w := &way{address: l.Addr().String(), Proxy: proxy.New(proxy.Options{
		Listener: l, Dial: func(ctx context.Context) (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "tcp", to) },
	})}
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	return w
}

// cut lets nothing through in either direction, until heal is called.
func (w *way) cut() (heal func()) {
	up, down := w.Cut(proxy.Forth), w.Cut(proxy.Back)
	return func() {
		up()
		down()
	}
}

// leasehold runs the binary as a command of an operator.
func leasehold(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	require.True(t, err == nil || errors.As(err, &exit), "%v", err)
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// asked has a command answer as JSON, and expects it to end with 0.
func asked(t *testing.T, into any, args ...string) {
	t.Helper()
	code, out, errs := leasehold(t, append(args, "--json")...)
	require.Zero(t, code, errs)
	require.NoError(t, json.Unmarshal([]byte(out), into), out)
}

// link is the one of a region, as a coordinator or that region tells of it.
func (n *node) link(region string) overshoot.Link {
	n.t.Helper()
	var all overshoot.Links
	n.body("/v1/links", &all)
	for i := range all.Links {
		if all.Links[i].Region == region {
			return all.Links[i]
		}
	}
	return overshoot.Link{State: "none"}
}

// overshoot is what a coordinator or a region tells of a quota.
func (n *node) overshoot(quota string) overshoot.Quota {
	n.t.Helper()
	var r overshoot.Report
	n.body("/v1/overshoot?quota="+quota, &r)
	require.Len(n.t, r.Quotas, 1)
	return r.Quotas[0]
}

func (n *node) body(path string, into any) {
	n.t.Helper()
	code, body := n.get(path)
	require.Equal(n.t, http.StatusOK, code, body)
	require.NoError(n.t, json.Unmarshal([]byte(body), into), body)
}
