// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.uber.org/zap"
	// The image has no file but the programs: these roots are for systems without roots.
	_ "golang.org/x/crypto/x509roots/fallback"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"kubi.zone/kubizone/pkg/terminal"
	"kubi.zone/kubizone/pkg/version"
)

// Program is a command line.
type Program struct {
	// Name begins each error.
	Name string
	Root *cobra.Command
	// verbosity and format of the log.
	verbosity int
	format    string
}

// New returns a program with the command version alone, which names the versions of modules. Programs share only the
// log.
func New(root *cobra.Command, modules ...string) *Program {
	p := &Program{Name: root.Use, Root: root, format: logText}
	text := describeBuild(root.Use, modules)
	root.SilenceUsage, root.SilenceErrors = true, true
	root.DisableSuggestions = true // Main prints suggestions in the line of the error
	root.PersistentPreRunE = func(command *cobra.Command, _ []string) error {
		return setUpLog(command.ErrOrStderr(), p.verbosity, p.format)
	}
	root.SetHelpFunc(printHelp)
	root.PersistentFlags().IntVarP(&p.verbosity, "v", "v", 0, "log verbosity: 0 warnings and errors, 2 events, 4 and more for debugging")
	root.AddCommand(&cobra.Command{
		Use:   "version",
		Short: "print the version",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			_, err := io.WriteString(command.OutOrStdout(), text+"\n")
			return err
		},
	})
	return p
}

// Verbosity is that of the log, once flags are parsed.
func (p *Program) Verbosity() *int { return &p.verbosity }

// AddLoggingFormat adds the flag --logging-format, for programs whose log a collector reads.
func (p *Program) AddLoggingFormat() {
	p.Root.PersistentFlags().StringVar(&p.format, "logging-format", p.format, "log format: text, or json, "+
		"one object a line with ts (milliseconds since 1970), level, caller, msg, and v or err")
	utilruntime.Must(p.Root.RegisterFlagCompletionFunc("logging-format", cobra.FixedCompletions([]string{logText, logJSON},
		cobra.ShellCompDirectiveNoFileComp)))
}

func describeBuild(name string, modules []string) string {
	text := fmt.Sprintf("%s v%s (%s %s/%s", name, version.Number(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	info, _ := debug.ReadBuildInfo()
	for _, path := range modules {
		found := "unknown"
		for i := 0; info != nil && i < len(info.Deps); i++ {
			if info.Deps[i].Path == path {
				found = info.Deps[i].Version
			}
		}
		text += ", " + path + " " + found
	}
	return text + ")"
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

// Exit codes.
const (
	exitNo     = 1
	exitFailed = 2
)

const exitCodes = `Exit codes:
  0  done, yes, or nothing to do
  1  the answer is no, there are differences, or something was refused
  2  could not
`

// printHelp prints the text of a command, its usage and the exit codes. Templates would link all methods of all types.
func printHelp(command *cobra.Command, _ []string) {
	text := strings.TrimSpace(cmp.Or(command.Long, command.Short))
	_, _ = io.WriteString(command.OutOrStdout(), text+"\n\n"+command.UsageString()+"\n"+exitCodes)
}

// No returns an error for the answer no. The text "" prints nothing.
func No(text string) error { return &noError{text} }

type noError struct{ text string }

func (e *noError) Error() string { return e.text }

// Main runs the command line of the arguments and returns the exit code.
func (p *Program) Main(arguments []string, out, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // the second signal has its default effect (P3)
	explainUsageErrors(p.Root)
	if slices.Equal(arguments, []string{"--version"}) {
		arguments = []string{"version"}
	}
	p.Root.SetArgs(arguments)
	out, stderr = terminal.NewWriter(out), terminal.NewWriter(stderr)
	p.Root.SetOut(out)
	p.Root.SetErr(stderr)
	command, err := p.Root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	var no *noError
	isNo := errors.As(err, &no)
	if isNo && err.Error() == "" {
		return exitNo
	}
	if command == p.Root && !strings.Contains(err.Error(), "--help") {
		err = p.explainUnknown(err)
	}
	if p.format == logJSON {
		jsonLogger(stderr, 0).WithOptions(zap.WithCaller(false)).Error(err.Error())
	} else {
		terminal.PrintError(stderr, p.Name, err)
	}
	if isNo {
		return exitNo
	}
	return exitFailed
}

// explainUnknown adds similar commands to an error of the root, which has no function of its own: the command is
// unknown.
func (p *Program) explainUnknown(err error) error {
	var typed string
	var commands []string
	if _, scan := fmt.Sscanf(err.Error(), "unknown command %q", &typed); scan == nil {
		for _, command := range p.Root.Commands() {
			commands = append(commands, command.Name())
		}
	}
	return fmt.Errorf("%w;%s %s --help lists the commands", err, didYouMean("", similarWords(typed, commands)), p.Root.CommandPath())
}
