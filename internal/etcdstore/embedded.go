package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
)

// EmbeddedOptions are the choices of Start.
type EmbeddedOptions struct {
	// Dir is the data directory, made if need be; required.
	Dir string
	// Name is the member's name; "" means "leasehold". It matters only when the
	// directory is new.
	Name string
	// ClientAddr and PeerAddr are listened on: host:port, where the host is an
	// IP address or localhost and port 0 is any free one. "" means
	// 127.0.0.1:7402 and 127.0.0.1:7403. Whoever reaches them can change every
	// limit: they ask for no password.
	ClientAddr, PeerAddr string
	// Members are all members of an etcd of several, by name, with the address at
	// which the others reach it; Name must be among them. Empty means an etcd of
	// this member alone. It matters only when the directory is new.
	Members map[string]string
	// QuotaBytes is how large the database may grow before etcd refuses writes;
	// 0 means DefaultQuota.
	QuotaBytes int64
	// Logger hears warnings and errors of etcd, among them why it ends the
	// process; nil means slog.Default().
	Logger *slog.Logger
}

// Defaults of EmbeddedOptions.
const (
	DefaultClientAddr = "127.0.0.1:7402"
	DefaultPeerAddr   = "127.0.0.1:7403"
	// EmbeddedTTL is the election lease that suits an embedded etcd: its leader
	// has no network to lose, and its own restart waits for the lease that the
	// killed process left, for a second less than with DefaultTTL.
	EmbeddedTTL = time.Second
	// DefaultQuota is 4 GiB: a million buckets' records are some hundred MB, and
	// the space that compaction frees is used again.
	DefaultQuota = 4 << 30
)

const (
	// retention is how long old revisions are kept. Nobody reads them but a
	// candidate's watch, which begins at the revision it has just seen.
	retention = "1m"
	// A single member has no network to wait for: an election at the start takes
	// a few ticks of 50 ms, and leases may be as short as a second.
	tick     = 50 * time.Millisecond
	election = 10 * tick
)

// AddressError says that etcd could not listen on an address.
type AddressError struct {
	// Role is "client" or "peer".
	Role string
	Addr string
	Err  error
}

func (e *AddressError) Error() string {
	if errors.Is(e.Err, syscall.EADDRINUSE) {
		return fmt.Sprintf("etcdstore: %s address %s is in use by another process", e.Role, e.Addr)
	}
	return fmt.Sprintf("etcdstore: cannot listen on %s address %s: %v", e.Role, e.Addr, e.Err)
}

// Unwrap returns the cause; errors.Is(err, syscall.EADDRINUSE) asks for a busy
// port.
func (e *AddressError) Unwrap() error { return e.Err }

// Embedded is one member of an etcd, most often the only one, in this process. It takes the process along
// when its disk fails: etcd does not go on after an fsync that did not work.
type Embedded struct {
	etcd *embed.Etcd
	lock *os.File
	died chan error
	mute atomic.Bool // the log, from when it closes

	closing chan struct{}
	once    sync.Once
	watcher sync.WaitGroup
}

// Start starts an etcd and returns when it serves, or fails when ctx ends. A
// busy port is an AddressError, and a directory in use an ErrLocked.
func Start(ctx context.Context, o EmbeddedOptions) (_ *Embedded, err error) {
	if o, err = o.complete(); err != nil {
		return nil, err
	}
	for _, l := range []AddressError{{Role: "client", Addr: o.ClientAddr}, {Role: "peer", Addr: o.PeerAddr}} {
		if l.Err = listenable(ctx, l.Addr); l.Err != nil {
			return nil, &l
		}
	}
	lock, err := lockDir(o.Dir)
	if err != nil {
		return nil, err
	}
	e := &Embedded{lock: lock, died: make(chan error, 1), closing: make(chan struct{})}
	e.etcd, err = embed.StartEtcd(o.config(&e.mute))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("etcdstore: start etcd in %s: %w", o.Dir, err), lock.Close())
	}
	e.watcher.Go(e.watch)
	select {
	case <-e.etcd.Server.ReadyNotify():
		return e, nil
	case err = <-e.died:
	case <-ctx.Done():
		err = ctx.Err()
	}
	return nil, errors.Join(fmt.Errorf("etcdstore: etcd in %s does not get ready: %w", o.Dir, err), e.Close())
}

// ClientAddr returns the address that clients dial, with the port that was taken.
func (e *Embedded) ClientAddr() string { return e.etcd.Clients[0].Addr().String() }

// Err returns a channel that receives one error when etcd dies by itself, and is
// closed by Close.
func (e *Embedded) Err() <-chan error { return e.died }

// Close stops etcd. It waits for open calls, for up to 6 s: close clients first.
func (e *Embedded) Close() error {
	var err error
	e.once.Do(func() {
		e.mute.Store(true)
		close(e.closing)
		e.watcher.Wait()
		e.etcd.Close()
		close(e.died)
		if err = e.lock.Close(); err != nil {
			err = fmt.Errorf("etcdstore: unlock the data directory: %w", err)
		}
	})
	return err
}

// watch notices that etcd ended without Close.
func (e *Embedded) watch() {
	select {
	case err := <-e.etcd.Err():
		e.died <- fmt.Errorf("etcdstore: etcd died: %w", err)
	case <-e.etcd.Server.StopNotify():
		e.died <- errors.New("etcdstore: etcd stopped by itself")
	case <-e.closing:
	}
}

// complete fills in the defaults.
func (o EmbeddedOptions) complete() (EmbeddedOptions, error) {
	if o.Dir == "" {
		return o, errors.New("etcdstore: EmbeddedOptions.Dir is empty")
	}
	if o.Name == "" {
		o.Name = "leasehold"
	}
	if o.ClientAddr == "" {
		o.ClientAddr = DefaultClientAddr
	}
	if o.PeerAddr == "" {
		o.PeerAddr = DefaultPeerAddr
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.QuotaBytes == 0 {
		o.QuotaBytes = DefaultQuota
	}
	if len(o.Members) > 0 && o.Members[o.Name] == "" {
		return o, fmt.Errorf("etcdstore: EmbeddedOptions.Name %q is not among the members %s", o.Name, o.initialCluster())
	}
	if o.QuotaBytes < 0 {
		return o, fmt.Errorf("etcdstore: EmbeddedOptions.QuotaBytes %d is negative, which etcd takes for unlimited", o.QuotaBytes)
	}
	return o, nil
}

// config translates the options for etcd.
func (o EmbeddedOptions) config(mute *atomic.Bool) *embed.Config {
	c := embed.NewConfig()
	c.Name = o.Name
	c.Dir = o.Dir
	client := []url.URL{{Scheme: "http", Host: o.ClientAddr}}
	peer := []url.URL{{Scheme: "http", Host: o.PeerAddr}}
	c.ListenClientUrls, c.AdvertiseClientUrls = client, client
	c.ListenPeerUrls, c.AdvertisePeerUrls = peer, peer
	c.InitialCluster = c.InitialClusterFromName(o.Name)
	if len(o.Members) > 0 {
		c.InitialCluster = o.initialCluster()
	}
	c.InitialClusterToken = "leasehold"
	c.TickMs = uint(tick / time.Millisecond)
	c.ElectionMs = uint(election / time.Millisecond)
	c.AutoCompactionMode = embed.CompactorModePeriodic
	c.AutoCompactionRetention = retention
	c.QuotaBackendBytes = o.QuotaBytes
	c.EnableGRPCGateway = false // JSON over HTTP: nobody asked for a second way in
	c.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zapLogger(o.Logger, mute))
	return c
}

// initialCluster writes the members as etcd wants them.
func (o EmbeddedOptions) initialCluster() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(o.Members)) {
		all = append(all, name+"=http://"+o.Members[name])
	}
	return strings.Join(all, ",")
}

// listenable tries an address, so that a busy port is told by its role and
// before anything was written.
func listenable(ctx context.Context, addr string) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	return l.Close()
}
