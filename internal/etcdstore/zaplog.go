package etcdstore

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// zapLogger returns a logger for etcd that passes warnings and worse on, as
// records of the group "etcd". Once closing is true, only what ends the process
// is passed: an etcd that was told to stop reports each listener as a failure.
func zapLogger(to *slog.Logger, closing *atomic.Bool) *zap.Logger {
	return zap.New(slogCore{handler: to.WithGroup("etcd").Handler(), closing: closing})
}

// slogCore is a zapcore.Core over a slog.Handler.
type slogCore struct {
	handler slog.Handler
	closing *atomic.Bool
}

// chatter are warnings of a healthy embedded etcd, said at every start.
var chatter = []string{
	"Running http and grpc server on single port. This is not recommended for production.",
	"simple token is not cryptographically signed",
	// A new member looks for its storage version before there is one, and looks
	// again.
	"Failed to detect schema version",
	"failed to update storage version",
}

// Enabled implements zapcore.LevelEnabler.
func (c slogCore) Enabled(level zapcore.Level) bool {
	least := zapcore.WarnLevel
	if c.closing.Load() {
		least = zapcore.DPanicLevel
	}
	return level >= least && c.handler.Enabled(context.Background(), slogLevel(level))
}

// With implements zapcore.Core.
func (c slogCore) With(fields []zapcore.Field) zapcore.Core {
	return slogCore{handler: c.handler.WithAttrs(attrs(fields)), closing: c.closing}
}

// Check implements zapcore.Core.
func (c slogCore) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(entry.Level) && !slices.Contains(chatter, entry.Message) {
		return checked.AddCore(entry, c)
	}
	return checked
}

// Write implements zapcore.Core.
func (c slogCore) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	r := slog.NewRecord(entry.Time, slogLevel(entry.Level), entry.Message, 0)
	r.AddAttrs(attrs(fields)...)
	return c.handler.Handle(context.Background(), r)
}

// Sync implements zapcore.Core.
func (c slogCore) Sync() error { return nil }

func slogLevel(level zapcore.Level) slog.Level {
	if level >= zapcore.ErrorLevel {
		return slog.LevelError
	}
	return slog.LevelWarn
}

func attrs(fields []zapcore.Field) []slog.Attr {
	encoder := zapcore.NewMapObjectEncoder()
	for _, f := range fields {
		f.AddTo(encoder)
	}
	as := make([]slog.Attr, 0, len(encoder.Fields))
	for key, value := range encoder.Fields {
		as = append(as, slog.Any(key, value))
	}
	slices.SortFunc(as, func(a, b slog.Attr) int { return strings.Compare(a.Key, b.Key) })
	return as
}
