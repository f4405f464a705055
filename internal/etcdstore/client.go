// Package etcdstore keeps a cluster's records and its election in etcd: one
// that runs inside the coordinator (Start) or one of the operator's own. It is
// the only package that imports etcd, and implements lease.Store and
// lease.Elector as storetest proves them.
//
// Its border: it moves bytes and names errors. What is written, when a leader
// proves itself and when it steps down is decided by its callers; nothing here
// renews or repeats anything behind their backs.
package etcdstore

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/stats"
)

// DialOptions say which etcd to talk to.
type DialOptions struct {
	// Endpoints are addresses (host:port) or URLs of the members; required.
	Endpoints []string
	// TLS is used for endpoints without a scheme and for https ones; nil means
	// no TLS for the former, and the system's roots for the latter.
	TLS *tls.Config
}

// Client is a connection to etcd that never repeats a write. A call that finds
// no connection waits for one until its context ends, and was not sent until
// then. Its methods may be called concurrently.
type Client struct {
	etcd *clientv3.Client
}

// Dial returns at once, whether an etcd answers or not: the connection is made,
// and made again after it was lost, as long as the client is not closed.
func Dial(o DialOptions) (*Client, error) {
	if len(o.Endpoints) == 0 {
		return nil, errors.New("etcdstore: no endpoints")
	}
	for _, e := range o.Endpoints {
		if o.TLS != nil && strings.HasPrefix(e, "http://") {
			return nil, fmt.Errorf("etcdstore: endpoint %q would be reached without the TLS that was asked for", e)
		}
	}
	etcd, err := clientv3.New(clientv3.Config{
		Endpoints: o.Endpoints,
		TLS:       o.TLS,
		Logger:    zap.NewNop(), // it logs the errors that it returns
		// One attempt. The client's interceptor would repeat a transaction
		// whose server says that a deadline passed while the caller's has not,
		// and the second attempt would report a conflict with the first.
		MaxUnaryRetries: 1,
		// A peer that vanished without a word is noticed by pings; etcd allows
		// one every 5 s, gRPC sends none more often than every 10 s.
		DialKeepAliveTime:    10 * time.Second,
		DialKeepAliveTimeout: 3 * time.Second,
		DialOptions: []grpc.DialOption{
			grpc.WithStatsHandler(sentHandler{}),
			// gRPC's own waits grow to two minutes, and a takeover must not wait
			// for that after an etcd came back.
			grpc.WithConnectParams(grpc.ConnectParams{
				Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
				MinConnectTimeout: 3 * time.Second,
			}),
		},
	})
	if err != nil {
		return nil, fmt.Errorf("etcdstore: dial %q: %w", o.Endpoints, err)
	}
	return &Client{etcd: etcd}, nil
}

// Close ends all calls and the connection.
func (c *Client) Close() error {
	if err := c.etcd.Close(); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("etcdstore: close client: %w", err)
	}
	return nil
}

// All our keys begin with keyPrefix, the cluster's name and their kind: dataKeys
// for records.
const (
	keyPrefix = "leasehold/"
	dataKeys  = "data"
)

// keyspace returns the prefix of a cluster's keys of one kind. A name with a
// slash could reach into another cluster's keys.
func keyspace(cluster, kind string) (string, error) {
	if cluster == "" || strings.Contains(cluster, "/") {
		return "", fmt.Errorf("etcdstore: cluster name %q must be non-empty and without a slash", cluster)
	}
	return keyPrefix + cluster + "/" + kind + "/", nil
}

// sent notes whether any part of a call reached a connection. While it did not,
// the call surely changed nothing: the one thing that error texts do not tell,
// since gRPC says "unavailable" for a connection that was refused and for one
// that broke after the request.
type sent struct{ atomic.Bool }

type sentKey struct{}

// withSent returns a context for one call, and what notes it.
func withSent(ctx context.Context) (context.Context, *sent) {
	s := &sent{}
	return context.WithValue(ctx, sentKey{}, s), s
}

// sentHandler marks the calls whose headers were handed to a connection.
type sentHandler struct{}

// TagRPC implements stats.Handler.
func (sentHandler) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// HandleRPC implements stats.Handler.
func (sentHandler) HandleRPC(ctx context.Context, event stats.RPCStats) {
	if _, ok := event.(*stats.OutHeader); !ok {
		return
	}
	if s, ok := ctx.Value(sentKey{}).(*sent); ok {
		s.Store(true)
	}
}

// TagConn implements stats.Handler.
func (sentHandler) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn implements stats.Handler.
func (sentHandler) HandleConn(context.Context, stats.ConnStats) {}
