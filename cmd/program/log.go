// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"flag"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/zapr"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/kit/terminal"
)

const (
	logText = "text"
	logJSON = "json"
)

// jsonFormat has the functions of --logging-format=json, which a program without the flag does not link.
type jsonFormat struct {
	setUp      func(to io.Writer, verbosity int)
	printError func(to io.Writer, err error)
}

// setUpLog directs klog to the writer in the format of --logging-format: warnings and errors, with -v information too.
// All programs of a process share klog, so the last call counts.
func (p *Program) setUpLog(to io.Writer) error {
	if p.format != logText && p.format != logJSON {
		return fmt.Errorf("--logging-format %q: write %s or %s", p.format, logText, logJSON)
	}
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	for name, value := range map[string]string{
		"v": strconv.Itoa(p.verbosity), "logtostderr": "false", "alsologtostderr": "false", "one_output": "true",
		// klog must not write to stderr as well.
		"stderrthreshold": "FATAL",
	} {
		if err := flags.Set(name, value); err != nil {
			return fmt.Errorf("log: %w", err)
		}
	}
	lines := logWriter{to}
	klog.SetOutputBySeverity("INFO", io.Discard)
	if p.verbosity > 0 {
		klog.SetOutputBySeverity("INFO", lines)
	}
	klog.SetOutputBySeverity("FATAL", lines)
	// Information is asked for by -v, and is not limited.
	limited := newPlaceLimit(lines)
	for _, severity := range []string{"WARNING", "ERROR"} {
		klog.SetOutputBySeverity(severity, limited)
	}
	// A former call in this process may have set a logger, for JSON.
	klog.ClearLogger()
	if p.format == logJSON {
		p.json.setUp(to, p.verbosity)
	}
	return nil
}

var zapJSON = &jsonFormat{setUpJSON, func(to io.Writer, err error) {
	jsonLogger(to, 0).WithOptions(zap.WithCaller(false)).Error(err.Error())
}}

func setUpJSON(to io.Writer, verbosity int) {
	logger := jsonLogger(to, verbosity)
	klog.SetLoggerWithOptions(zapr.NewLoggerWithOptions(logger, zapr.LogInfoLevel("v"), zapr.ErrorKey("err")),
		klog.ContextualLogger(true), klog.WriteKlogBuffer(func(line []byte) {
			writeUnstructured(logger, string(line))
		}))
}

// jsonLogger returns a logger of JSON lines: information up to the verbosity, and warnings and errors within the limit
// of each place.
func jsonLogger(to io.Writer, verbosity int) *zap.Logger {
	encoder := zapcore.NewJSONEncoder(zapcore.EncoderConfig{
		TimeKey: "ts", LevelKey: "level", NameKey: "logger", CallerKey: "caller", MessageKey: "msg",
		EncodeTime: zapcore.EpochMillisTimeEncoder, EncodeDuration: zapcore.StringDurationEncoder, EncodeCaller: zapcore.ShortCallerEncoder,
		EncodeLevel: func(level zapcore.Level, into zapcore.PrimitiveArrayEncoder) {
			into.AppendString(max(level, zapcore.InfoLevel).String()) // levels below are verbosities
		},
	})
	warnings := zapcore.Lock(zapcore.AddSync(to))
	information := warnings
	if verbosity == 0 {
		information = zapcore.AddSync(io.Discard) // logr has no warnings: they need information enabled
	}
	return zap.New(zapcore.NewTee(
		zapcore.NewCore(encoder, information, zap.LevelEnablerFunc(func(level zapcore.Level) bool {
			return level < zapcore.WarnLevel &&
				int(level) >= -verbosity
		})),
		zapcore.NewSamplerWithOptions(zapcore.NewCore(encoder, warnings, zapcore.WarnLevel), placeInterval, placeBurst, 0),
	), zap.WithCaller(true))
}

// writeUnstructured logs a line of klog: `W0102 15:04:05.000000 4711 file.go:12] message`.
func writeUnstructured(logger *zap.Logger, line string) {
	level := zapcore.ErrorLevel
	switch {
	case strings.HasPrefix(line, "I"):
		level = zapcore.InfoLevel
	case strings.HasPrefix(line, "W"):
		level = zapcore.WarnLevel
	}
	// The header ends with the place in the code, such as reflector.go:227.
	header, message, _ := strings.Cut(line, "] ")
	if strings.HasPrefix(message, endOfWatches) {
		return
	}
	caller := header[strings.LastIndex(header, " ")+1:]
	if entry := logger.WithOptions(zap.WithCaller(false)).Check(level, strings.TrimSuffix(message, "\n")); entry != nil {
		entry.Write(zap.String("caller", caller))
	}
}

// endOfWatches begins a warning of k8s.io/apiserver for each resource when a server stops. The log omits this warning:
// if a watch cache fails, an error follows.
const endOfWatches = "Terminating all watchers from cacher "

// logWriter indents all lines but the first, because a tenant's line break must not begin a line of the log.
type logWriter struct{ to io.Writer }

var beginning = regexp.MustCompile(`\n([^\t ])`)

func (w logWriter) Write(line []byte) (int, error) {
	_, err := w.to.Write(beginning.ReplaceAll(line, []byte("\n\t$1")))
	return len(line), err
}

const (
	placeBurst    = 100
	placeInterval = 10 * time.Second
)

// placeLimit is the writer of the log. The lines from a place (a line of code) are limited, because some libraries log
// an error for each request. After placeBurst lines, further lines are dropped until the end of placeInterval, and
// later counted in a line.
type placeLimit struct {
	to io.Writer
	mu sync.Mutex
	// places is by file and line of the code, for example "reflector.go:227". So its size is bounded.
	places map[string]*place
}

type place struct {
	since time.Time
	lines int
}

func newPlaceLimit(to io.Writer) *placeLimit { return &placeLimit{to: to, places: map[string]*place{}} }

// Write writes a line unless its place has reached the limit. The number of dropped lines comes before the first line
// of the next interval.
func (l *placeLimit) Write(line []byte) (int, error) {
	header, message, _ := strings.Cut(string(line), "] ")
	if strings.HasPrefix(message, endOfWatches) {
		return len(line), nil
	}
	at := header[strings.LastIndex(header, " ")+1:]
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.places[at]
	if now := time.Now(); p == nil || now.Sub(p.since) >= placeInterval {
		if p != nil && p.lines > placeBurst {
			if _, err := terminal.Fprintf(l.to, "%s] %d lines of this place are left out\n", header, p.lines-placeBurst); err != nil {
				return 0, err
			}
		}
		p = &place{since: now}
		l.places[at] = p
	}
	if p.lines++; p.lines > placeBurst {
		return len(line), nil
	}
	return l.to.Write(line)
}
