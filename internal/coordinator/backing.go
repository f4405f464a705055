package coordinator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/a1009580/leasehold/internal/etcdstore"
	"github.com/a1009580/leasehold/lease"
)

// Backing is where a cluster's records and its election are kept.
type Backing struct {
	Store   lease.Store
	Elector lease.Elector
	// Died, if it is not nil, receives when the store ended for good; the
	// coordinator then ends, too.
	Died <-chan error
	// Disk, if it is not nil, tells how it stands with the store's disk.
	Disk func() Disk

	close func() error
}

// Disk is the state of the disk under a store of this process.
type Disk struct {
	FreeBytes      uint64 `json:"free_bytes"`
	WatermarkBytes uint64 `json:"watermark_bytes"`
	// Short says that the store takes no writes until more is free.
	Short bool `json:"short"`
}

// Close ends what was opened. A Backing that a caller put together has nothing
// to close.
func (b *Backing) Close() error {
	if b.close == nil {
		return nil
	}
	return b.close()
}

// EtcdOptions say which etcd a cluster uses.
type EtcdOptions struct {
	// Endpoints are those of an etcd of the operator's; without any, one is
	// embedded, with its data in DataDir.
	Endpoints            []string
	DataDir              string
	ClientAddr, PeerAddr string
	Cluster              string
	// ElectionTTL is how long a leader that vanished keeps its place, in whole
	// seconds; 0 means etcdstore.DefaultTTL. With an embedded etcd, which has no
	// network between, etcdstore.EmbeddedTTL has a process that was killed lead
	// again sooner.
	ElectionTTL time.Duration
	// MinFreeDisk is the free space in bytes below which an embedded etcd is
	// not written to.
	MinFreeDisk uint64
	Log         *slog.Logger
}

// OpenEtcd opens a cluster's backing in etcd. One that is external need not
// answer yet.
func OpenEtcd(ctx context.Context, o EtcdOptions) (_ *Backing, err error) {
	if len(o.Endpoints) > 0 {
		return dial(o)
	}
	if o.DataDir == "" {
		return nil, errors.New("a data directory is needed for the embedded etcd, or the endpoints of an external one")
	}
	etcd, err := etcdstore.Start(ctx, etcdstore.EmbeddedOptions{
		Dir: o.DataDir, ClientAddr: o.ClientAddr, PeerAddr: o.PeerAddr, Logger: o.Log,
	})
	if err != nil {
		return nil, err
	}
	o.Endpoints = []string{etcd.ClientAddr()}
	b, err := dial(o)
	if err != nil {
		return nil, errors.Join(err, etcd.Close())
	}
	closeClient := b.close
	b.close = func() error { return errors.Join(closeClient(), etcd.Close()) }
	b.Died = etcd.Err()
	b.guardDisk(o)
	return b, nil
}

// dial opens a cluster's backing in an etcd that runs.
func dial(o EtcdOptions) (*Backing, error) {
	client, err := etcdstore.Dial(etcdstore.DialOptions{Endpoints: o.Endpoints})
	if err != nil {
		return nil, err
	}
	if o.Cluster == "" {
		o.Cluster = DefaultCluster
	}
	store, err := etcdstore.NewStore(client, o.Cluster)
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	elector, err := etcdstore.NewElector(client, o.Cluster, etcdstore.ElectorOptions{TTL: o.ElectionTTL, Logger: o.Log})
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return &Backing{Store: store, Elector: elector, close: client.Close}, nil
}

// guardDisk stops writes while the disk of the embedded etcd is short of space.
func (b *Backing) guardDisk(o EtcdOptions) {
	low := o.MinFreeDisk
	if low == 0 {
		low = etcdstore.DefaultWatermark
	}
	free := func() (uint64, error) {
		n, _, err := etcdstore.DiskFree(o.DataDir)
		return n, err
	}
	w := etcdstore.NewWatermark(b.Store, low, free)
	b.Store = w
	b.Disk = func() Disk {
		n, err := free()
		d := Disk{FreeBytes: n, WatermarkBytes: low}
		// The watermark looks only when it is asked to write.
		d.Short = err != nil || n < low || w.Short() && n < low+low/10
		return d
	}
}

// String describes the state for people.
func (d Disk) String() string {
	return fmt.Sprintf("%d MiB free, watermark %d MiB", d.FreeBytes>>20, d.WatermarkBytes>>20)
}
