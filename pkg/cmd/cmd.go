// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/go-logr/zapr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	// The image has no file but the program: these roots are for systems without roots.
	_ "golang.org/x/crypto/x509roots/fallback"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	apiservercmd "kubi.zone/kubizone/pkg/cmd/apiserver"
	"kubi.zone/kubizone/pkg/cmd/applier"
	"kubi.zone/kubizone/pkg/cmd/backup"
	"kubi.zone/kubizone/pkg/cmd/bindagent"
	"kubi.zone/kubizone/pkg/cmd/changes"
	"kubi.zone/kubizone/pkg/cmd/controller"
	"kubi.zone/kubizone/pkg/cmd/doctor"
	"kubi.zone/kubizone/pkg/cmd/explain"
	"kubi.zone/kubizone/pkg/cmd/exporter"
	externaldnscmd "kubi.zone/kubizone/pkg/cmd/externaldns"
	fleetcmd "kubi.zone/kubizone/pkg/cmd/fleet"
	"kubi.zone/kubizone/pkg/cmd/fsck"
	"kubi.zone/kubizone/pkg/cmd/importer"
	"kubi.zone/kubizone/pkg/cmd/lint"
	"kubi.zone/kubizone/pkg/cmd/names"
	"kubi.zone/kubizone/pkg/cmd/peercert"
	primarycmd "kubi.zone/kubizone/pkg/cmd/primary"
	"kubi.zone/kubizone/pkg/cmd/replacemember"
	"kubi.zone/kubizone/pkg/cmd/restore"
	"kubi.zone/kubizone/pkg/cmd/up"
	"kubi.zone/kubizone/pkg/cmd/updatekey"
	verifycmd "kubi.zone/kubizone/pkg/cmd/verify"
	"kubi.zone/kubizone/pkg/terminal"
	"kubi.zone/kubizone/pkg/version"
)

// New returns a new root command. Root commands share only the log.
func New() *cobra.Command {
	var verbosity int
	logFormat := logText
	root := &cobra.Command{
		Use:   "kubizone",
		Short: "DNS as a native Kubernetes API",
		Long: `DNS as a native Kubernetes API: zones and records are objects, a zone's serial and hash change in the transaction that
changes a record, and secondaries get NOTIFY within a second.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       buildText(),
		// Main prints suggestions in the line of the error.
		DisableSuggestions: true,
		PersistentPreRunE: func(command *cobra.Command, _ []string) error {
			return setUpLog(command.ErrOrStderr(), verbosity, logFormat)
		},
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.PersistentFlags().IntVarP(&verbosity, "v", "v", 0, "log verbosity: 0 warnings and errors, 2 events, 4 and more for debugging")
	root.PersistentFlags().StringVar(&logFormat, "logging-format", logFormat, "log format: text, or json, "+
		"one object a line with ts (milliseconds since 1970), level, caller, msg, and v or err")
	utilruntime.Must(root.RegisterFlagCompletionFunc("logging-format", cobra.FixedCompletions([]string{logText, logJSON},
		cobra.ShellCompDirectiveNoFileComp)))
	root.AddCommand([]*cobra.Command{
		up.NewCommand(&verbosity),
		apiservercmd.NewCommand(),
		primarycmd.NewCommand(),
		importer.NewCommand(),
		importer.NewPlanCommand(),
		exporter.NewCommand(),
		applier.NewCommand(),
		changes.NewCommand(),
		updatekey.NewCommand(),
		externaldnscmd.NewCommand(),
		verifycmd.NewCommand(),
		fsck.NewCommand(),
		backup.NewCommand(),
		restore.NewCommand(),
		replacemember.NewCommand(),
		peercert.NewCommand(),
		controller.NewCommand(),
		fleetcmd.NewCommand(),
		doctor.NewCommand(),
		explain.NewCommand(),
		lint.NewCommand(),
		bindagent.NewCommand(),
		versionCommand(),
	}...)
	root.AddCommand(names.NewCommands()...)
	explainUsageErrors(root)
	return root
}

// Names under which kubectl runs the program: as a plugin, and for completion.
const (
	pluginName     = "kubectl-kubizone"
	completionName = "kubectl_complete-kubizone"
)

func adaptToName(root *cobra.Command, started string, arguments []string) []string {
	switch strings.TrimSuffix(filepath.Base(started), ".exe") {
	case pluginName:
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl kubizone"}
	case completionName:
		return append([]string{cobra.ShellCompRequestCmd}, arguments...)
	}
	return arguments
}

func explainUsageErrors(root *cobra.Command) {
	root.SetFlagErrorFunc(func(command *cobra.Command, err error) error {
		var unknown *pflag.NotExistError
		var flags []string
		if errors.As(err, &unknown) {
			command.Flags().VisitAll(func(flag *pflag.Flag) { flags = append(flags, flag.Name) })
			flags = similarWords(unknown.GetSpecifiedName(), flags)
		}
		return fmt.Errorf("%w;%s %s --help lists the flags", err, didYouMean("--", flags), command.CommandPath())
	})
	for _, command := range root.Commands() {
		judge := command.Args
		if judge == nil {
			judge = cobra.NoArgs
		}
		command.Args = func(command *cobra.Command, arguments []string) error {
			switch err := judge(command, arguments); {
			case err == nil:
				return nil
			case !strings.Contains(command.Use, " "):
				return fmt.Errorf("%s takes flags only, and %q is not a flag; %s --help lists them", command.CommandPath(), arguments[0],
					command.CommandPath())
			default:
				_, needs, _ := strings.Cut(command.Use, " ")
				count := "exactly one argument"
				if strings.Contains(needs, " ") || strings.Contains(needs, "...") {
					count = "arguments"
				}
				return fmt.Errorf("%s needs %s: %s (given: %d); %s --help says more", command.CommandPath(), count, needs, len(arguments),
					command.CommandPath())
			}
		}
	}
}

func similarWords(typed string, words []string) []string {
	all := &cobra.Command{SuggestionsMinimumDistance: 2}
	for _, word := range words {
		all.AddCommand(&cobra.Command{Use: word, Run: func(*cobra.Command, []string) {}})
	}
	return all.SuggestionsFor(typed)
}

func didYouMean(prefix string, words []string) string {
	if len(words) == 0 {
		return ""
	}
	return " did you mean " + prefix + strings.Join(words, " or "+prefix) + "?"
}

const (
	// exitDiffers: the answer is no (C2).
	exitDiffers = 1
	// exitFailed: there is no answer (C2).
	exitFailed  = 2
	exitChanges = 2
)

const planName = "plan"

var negativeAnswers = []error{verifycmd.ErrDifferent, importer.ErrRefused, applier.ErrRefused, fsck.ErrDamaged, doctor.ErrFailed,
	lint.ErrRefused, names.ErrNo}

// Main runs the command line and returns the exit code.
func Main(arguments []string, out, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // the second signal has its default effect (C3)
	root := New()
	root.SetArgs(adaptToName(root, os.Args[0], arguments))
	out, stderr = terminal.NewWriter(out), terminal.NewWriter(stderr)
	root.SetOut(out)
	root.SetErr(stderr)
	command, err := root.ExecuteContextC(ctx)
	message := err
	switch {
	case err == nil:
		return 0
	case errors.Is(err, importer.ErrChanges):
		return exitChanges
	case command == root && !strings.Contains(err.Error(), "--help"):
		// The root has no function of its own: the command is unknown.
		var typed string
		var commands []string
		if _, scan := fmt.Sscanf(err.Error(), "unknown command %q", &typed); scan == nil {
			for _, command := range root.Commands() {
				commands = append(commands, command.Name())
			}
		}
		message = fmt.Errorf("%w;%s %s --help lists the commands", err, didYouMean("", similarWords(typed, commands)), root.CommandPath())
	}
	if root.PersistentFlags().Lookup("logging-format").Value.String() == logJSON {
		jsonLogger(stderr, 0).WithOptions(zap.WithCaller(false)).Error(message.Error())
	} else {
		terminal.PrintError(stderr, "kubizone", message)
	}
	if command.Name() == planName { // exit code 2 is for changes
		return exitDiffers
	}
	if slices.ContainsFunc(negativeAnswers, func(answer error) bool { return errors.Is(err, answer) }) {
		return exitDiffers
	}
	return exitFailed
}

const (
	logText = "text"
	logJSON = "json"
)

// setUpLog writes information only with -v (C4). klog is global to the process.
func setUpLog(to io.Writer, verbosity int, format string) error {
	if format != logText && format != logJSON {
		return fmt.Errorf("--logging-format %q: write %s or %s", format, logText, logJSON)
	}
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	for name, value := range map[string]string{
		"v": strconv.Itoa(verbosity), "logtostderr": "false", "alsologtostderr": "false", "one_output": "true",
		// klog must not write to stderr as well.
		"stderrthreshold": "FATAL",
	} {
		if err := flags.Set(name, value); err != nil {
			return fmt.Errorf("log: %w", err)
		}
	}
	lines := logWriter{to}
	klog.SetOutputBySeverity("INFO", io.Discard)
	if verbosity > 0 {
		klog.SetOutputBySeverity("INFO", lines)
	}
	klog.SetOutputBySeverity("FATAL", lines)
	limited := newPlaceLimit(lines)
	for _, severity := range []string{"WARNING", "ERROR"} {
		klog.SetOutputBySeverity(severity, limited)
	}
	klog.ClearLogger()
	if format == logJSON {
		logger := jsonLogger(to, verbosity)
		klog.SetLoggerWithOptions(zapr.NewLoggerWithOptions(logger, zapr.LogInfoLevel("v"), zapr.ErrorKey("err")),
			klog.ContextualLogger(true), klog.WriteKlogBuffer(func(line []byte) {
				writeUnstructured(logger, string(line))
			}))
	}
	return nil
}

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

// writeUnstructured writes a line of klog, whose severity is only in its header: `W0102 15:04:05.000000 4711
// file.go:12] message`.
func writeUnstructured(logger *zap.Logger, line string) {
	level := zapcore.ErrorLevel
	switch {
	case strings.HasPrefix(line, "I"):
		level = zapcore.InfoLevel
	case strings.HasPrefix(line, "W"):
		level = zapcore.WarnLevel
	}
	header, message, _ := strings.Cut(line, "] ")
	caller := header[strings.LastIndex(header, " ")+1:]
	if entry := logger.WithOptions(zap.WithCaller(false)).Check(level, strings.TrimSuffix(message, "\n")); entry != nil {
		entry.Write(zap.String("caller", caller))
	}
}

func buildText() string {
	versions := map[string]string{"k8s.io/apiserver": "unknown", "go.etcd.io/etcd/server/v3": "unknown"}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if versions[module.Path] != "" {
				versions[module.Path] = module.Version
			}
		}
	}
	return fmt.Sprintf("kubizone v%s (%s %s/%s, apiserver %s, etcd %s)", version.Number(), runtime.Version(), runtime.GOOS, runtime.GOARCH,
		versions["k8s.io/apiserver"], versions["go.etcd.io/etcd/server/v3"])
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print the version",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			_, err := io.WriteString(command.OutOrStdout(), buildText()+"\n")
			return err
		},
	}
}
