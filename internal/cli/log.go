package cli

import (
	"io"
	"log/slog"

	"github.com/spf13/pflag"
)

// LogFlags are the options of logs.
type LogFlags struct {
	Format string
	Level  string
}

// Register adds the flags.
func (l *LogFlags) Register(fs *pflag.FlagSet) {
	fs.StringVar(&l.Format, "log-format", "text", "format of the log: text or json")
	fs.StringVar(&l.Level, "log-level", "info", "least level of the log: debug, info, warn or error")
}

// Logger returns a logger that writes to w.
func (l *LogFlags) Logger(w io.Writer) (*slog.Logger, error) {
	var o slog.HandlerOptions
	switch l.Level {
	case "debug":
		o.Level = slog.LevelDebug
	case "info":
		o.Level = slog.LevelInfo
	case "warn":
		o.Level = slog.LevelWarn
	case "error":
		o.Level = slog.LevelError
	default:
		return nil, Usagef("--log-level %q: must be debug, info, warn or error", l.Level)
	}
	switch l.Format {
	case "text":
		return slog.New(slog.NewTextHandler(w, &o)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, &o)), nil
	default:
		return nil, Usagef("--log-format %q: must be text or json", l.Format)
	}
}
