package etcdstore

import (
	"context"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// zapLogger returns a logger for etcd that passes warnings and worse on, as
// records of the group "etcd". Once closing is true, only what ends the process
// is passed: an etcd that was told to stop reports each listener as a failure.
//
// The keys of buckets are credentials as often as not, and etcd logs requests
// whole when they are slow. No key passes: see attr and withoutKeys.
func zapLogger(to *slog.Logger, closing *atomic.Bool) *zap.Logger {
	return zap.New(slogCore{handler: to.WithGroup("etcd").Handler(), closing: closing})
}

// slogCore is a zapcore.Core over a slog.Handler.
type slogCore struct {
	handler slog.Handler
	closing *atomic.Bool
}

// chatter are records of a healthy embedded etcd, written at every start: a
// message, and the error that comes with it, if there is one. With another error
// the same message is passed on.
var chatter = map[string]string{
	"Running http and grpc server on single port. This is not recommended for production.": "",
	"simple token is not cryptographically signed":                                         "",
	// A new member looks for its storage version before there is one, and looks
	// again.
	"Failed to detect schema version":  "missing term information",
	"failed to update storage version": "cannot detect storage schema version: missing term information",
}

// texts are the fields of texts that may pass: addresses, names of members and
// files, versions and sizes. Everything else may quote a request.
var texts = []string{
	"addr", "address", "alarm", "broken-path", "cluster-id", "cluster-version", "current-db-size",
	"current-db-size-in-use", "data-dir", "dir-path", "leader-id", "local-address", "local-member-id", "message-type",
	"path", "peer-id", "quota-size", "remote-addr", "remote-peer-id", "server-version", "size", "storage-version",
	"target-version", "wal-dir",
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
	if c.Enabled(entry.Level) {
		return checked.AddCore(entry, c)
	}
	return checked
}

// Write implements zapcore.Core.
func (c slogCore) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	if cause, known := chatter[entry.Message]; known && cause == causeOf(fields) {
		return nil
	}
	r := slog.NewRecord(entry.Time, slogLevel(entry.Level), withoutKeys(entry.Message), 0)
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

// attrs translates the fields that may pass.
func attrs(fields []zapcore.Field) []slog.Attr {
	as := make([]slog.Attr, 0, len(fields))
	for i := range fields {
		if a, ok := attr(&fields[i]); ok {
			as = append(as, a)
		}
	}
	slices.SortFunc(as, func(a, b slog.Attr) int { return strings.Compare(a.Key, b.Key) })
	return as
}

// attr translates a field if it can hold no key: a number, a duration, a time or
// a truth can not, and of texts only those that are known.
func attr(f *zapcore.Field) (slog.Attr, bool) {
	switch f.Type {
	case zapcore.BoolType, zapcore.DurationType, zapcore.TimeType, zapcore.TimeFullType,
		zapcore.Float64Type, zapcore.Float32Type,
		zapcore.Int64Type, zapcore.Int32Type, zapcore.Int16Type, zapcore.Int8Type,
		zapcore.Uint64Type, zapcore.Uint32Type, zapcore.Uint16Type, zapcore.Uint8Type:
		e := zapcore.NewMapObjectEncoder()
		f.AddTo(e)
		return slog.Any(f.Key, e.Fields[f.Key]), true
	case zapcore.StringType:
		return slog.String(f.Key, withoutKeys(f.String)), slices.Contains(texts, f.Key)
	case zapcore.ErrorType:
		return slog.String(f.Key, withoutKeys(errorText(f))), f.Key == errorField
	default:
		return slog.Attr{}, false
	}
}

const errorField = "error"

func errorText(f *zapcore.Field) string {
	err, ok := f.Interface.(error)
	if !ok || err == nil {
		return ""
	}
	return err.Error()
}

// causeOf returns the text of the error among the fields, "" if there is none.
func causeOf(fields []zapcore.Field) string {
	for i := range fields {
		if f := &fields[i]; f.Type == zapcore.ErrorType && f.Key == errorField {
			return errorText(f)
		}
	}
	return ""
}

// bucketKeys finds the keys of records, but not directories that are merely
// called like us. Those of the election are no secret.
var bucketKeys = regexp.MustCompile(keyPrefix + "[^/]+/" + dataKeys + "/")

// withoutKeys withholds a text that quotes a key of a record: all begin alike.
func withoutKeys(text string) string {
	if bucketKeys.MatchString(text) {
		return "(withheld: the text holds a key of the store)"
	}
	return text
}
