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
	"sync"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	// The image has no root certificates.
	_ "golang.org/x/crypto/x509roots/fallback"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"kubi.zone/kubizone/cmd/output"
	"kubi.zone/kubizone/pkg/apis/refusal"
	"kubi.zone/kubizone/pkg/kit/terminal"
	"kubi.zone/kubizone/pkg/kit/version"
)

type Program struct {
	Name string
	Root *cobra.Command
	// Explain, if set, adds the remedy to an error.
	Explain   func(error) error
	verbosity int
	format    string
	json      *jsonFormat
}

// New returns a program with the commands of root and a command "version", which prints the versions of modules (Go
// module paths) too. Programs in a process share only the log.
func New(root *cobra.Command, modules ...string) *Program {
	p := &Program{Name: root.Use, Root: root, format: logText}
	text := describeBuild(root.Use, modules)
	root.SilenceUsage, root.SilenceErrors = true, true
	root.DisableSuggestions = true // Main prints suggestions in the line of the error
	root.PersistentPreRunE = func(command *cobra.Command, _ []string) error {
		return p.setUpLog(command.ErrOrStderr())
	}
	root.SetHelpFunc(printHelp)
	root.SetUsageFunc(func(command *cobra.Command) error {
		text := output.NewText(command.OutOrStderr())
		addUsage(text, command)
		_, err := text.WriteTo(command.OutOrStderr())
		return err
	})
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

func (p *Program) Verbosity() *int { return &p.verbosity }

func (p *Program) AddLoggingFormat() {
	p.json = zapJSON
	p.Root.PersistentFlags().StringVar(&p.format, "logging-format", p.format, "log format: text, or json, "+
		"one object a line with ts (milliseconds since 1970), level, caller, msg, and v or err")
	utilruntime.Must(p.Root.RegisterFlagCompletionFunc("logging-format", cobra.FixedCompletions([]string{logText, logJSON},
		cobra.ShellCompDirectiveNoFileComp)))
}

// describeBuild returns the line of the command version: program, Go, platform, and the version of each module or
// "unknown".
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
		// A mistyped flag, such as --namspace, gets a suggestion.
		if errors.As(err, &unknown) {
			command.Flags().VisitAll(func(flag *pflag.Flag) { flags = append(flags, flag.Name) })
			flags = similarWords(unknown.GetSpecifiedName(), flags)
		}
		return fmt.Errorf("%w;%s %s --help lists the flags", err, didYouMean("--", flags), command.CommandPath())
	})
	for _, command := range root.Commands() {
		explainArguments(command)
	}
}

// explainArguments replaces cobra's errors about arguments, for the command and all below, by errors that say what the
// command needs.
func explainArguments(command *cobra.Command) {
	judge := command.Args
	if judge == nil {
		judge = cobra.NoArgs
	}
	command.Args = func(command *cobra.Command, arguments []string) error {
		path := command.CommandPath()
		switch err := judge(command, arguments); {
		case err == nil:
			return nil
		case command.HasSubCommands():
			return fmt.Errorf("unknown command %q for %q; %s --help lists the commands", arguments[0], path, path)
		case !strings.Contains(command.Use, " "):
			return fmt.Errorf("%s takes flags only, and %q is not a flag; %s --help lists them", path, arguments[0], path)
		default:
			_, needs, _ := strings.Cut(command.Use, " ")
			count := "exactly one argument"
			if strings.Contains(needs, " ") || strings.Contains(needs, "...") {
				count = "arguments"
			}
			return fmt.Errorf("%s needs %s: %s (given: %d); %s --help says more", path, count, needs, len(arguments), path)
		}
	}
	for _, below := range command.Commands() {
		explainArguments(below)
	}
}

func similarWords(typed string, words []string) []string {
	all := &cobra.Command{SuggestionsMinimumDistance: 2}
	for _, word := range words {
		all.AddCommand(&cobra.Command{Use: word, Run: func(*cobra.Command, []string) {}})
	}
	return all.SuggestionsFor(typed)
}

// DidYouMean returns " did you mean A or B?" with words similar to typed, or "".
func DidYouMean(typed string, words []string) string {
	return didYouMean("", similarWords(typed, words))
}

func didYouMean(prefix string, words []string) string {
	if len(words) == 0 {
		return ""
	}
	return " did you mean " + prefix + strings.Join(words, " or "+prefix) + "?"
}

const (
	exitNo     = 1
	exitFailed = 2
)

var exitCodes = [][]string{
	{"", "0", "done, yes, or nothing to do"},
	{"", "1", "the answer is no, there are differences, or something was refused"},
	{"", "2", "could not"},
}

const optionsCommand = "options"

// Shared marks flags that only the command "options" lists, and no other help.
func Shared(flags *pflag.FlagSet) {
	flags.VisitAll(Share)
}

func Share(flag *pflag.Flag) { flag.Annotations = map[string][]string{optionsCommand: nil} }

// AddOptions adds the command "options", which lists the flags of shared and the persistent flags. Other help then
// leaves them out.
func (p *Program) AddOptions(shared func(*pflag.FlagSet)) {
	p.Root.AddCommand(&cobra.Command{
		Use:   optionsCommand,
		Short: "list the flags that every command takes",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			flags := pflag.NewFlagSet("", pflag.ContinueOnError)
			shared(flags)
			flags.AddFlagSet(p.Root.PersistentFlags())
			text := output.NewText(command.OutOrStdout())
			text.Line("Every command takes these flags, which are those of kubectl:")
			text.Line("")
			addFlags(text, flags, true)
			_, err := text.WriteTo(command.OutOrStdout())
			return err
		},
	})
}

// printHelp uses no templates, which would link all methods of all types.
func printHelp(command *cobra.Command, _ []string) {
	text := output.NewText(command.OutOrStdout())
	for paragraph := range strings.SplitSeq(strings.TrimSpace(cmp.Or(command.Long, command.Short)), "\n\n") {
		text.Paragraph(strings.Join(strings.Fields(paragraph), " "), "")
		text.Line("")
	}
	addUsage(text, command)
	text.Line("")
	text.Line("Exit codes:")
	text.Table(nil, exitCodes)
	_, _ = text.WriteTo(command.OutOrStdout())
}

// addUsage adds usage, examples, commands and flags of a command to the text.
func addUsage(text *output.Text, command *cobra.Command) {
	text.Line("Usage:")
	if command.Runnable() {
		text.Line("  %s", command.UseLine())
	}
	if command.HasAvailableSubCommands() {
		text.Line("  %s COMMAND", command.CommandPath())
	}
	if command.Example != "" {
		text.Line("")
		text.Line("Examples:")
		for line := range strings.SplitSeq(command.Example, "\n") {
			text.Command("  " + strings.TrimSpace(line))
		}
	}
	var rows [][]string
	for _, below := range command.Commands() {
		if below.IsAvailableCommand() {
			rows = append(rows, []string{"", below.Name(), below.Short})
		}
	}
	if len(rows) > 0 {
		text.Line("")
		text.Line("Commands:")
		text.Table(nil, rows)
	}
	_, _, err := command.Root().Find([]string{optionsCommand})
	flags, hasOptions := command.Flags(), err == nil
	if hasOptions {
		flags = command.NonInheritedFlags()
	}
	text.Line("")
	text.Line("Flags:")
	addFlags(text, flags, !hasOptions)
	if hasOptions {
		text.Line("")
		text.Line("%s %s lists the flags that every command takes.", command.Root().CommandPath(), optionsCommand)
	}
}

// addFlags adds a row for each flag. Shared flags are left out unless all is true.
func addFlags(text *output.Text, flags *pflag.FlagSet, all bool) {
	var rows [][]string
	flags.VisitAll(func(flag *pflag.Flag) {
		if _, is := flag.Annotations[optionsCommand]; flag.Hidden || is && !all {
			return
		}
		name, usage := pflag.UnquoteUsage(flag)
		form := "    --" + flag.Name
		if flag.Shorthand != "" {
			form = "-" + flag.Shorthand + ", --" + flag.Name
		}
		if name != "" {
			form += " " + name
		}
		// A default that does nothing is no news.
		if value := flag.DefValue; !slices.Contains([]string{"", "0", "false", "[]"}, value) {
			usage += " (default " + value + ")"
		}
		rows = append(rows, []string{"", form, usage})
	})
	text.Table(nil, rows)
}

// No returns an error with exit code 1. If the text is "", nothing is printed.
func No(text string) error { return &noError{text} }

type noError struct{ text string }

func (e *noError) Error() string { return e.text }

// Main runs the program with the arguments, prints an error to stderr, and returns the exit code (P2). A signal ends
// the context of the command.
func (p *Program) Main(arguments []string, out, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // the second signal has its default effect (P3)
	explainUsageErrors(p.Root)
	if slices.Equal(arguments, []string{"--version"}) {
		arguments = []string{"version"}
	}
	p.Root.SetArgs(arguments)
	out, stderr = output.NewWriter(out), output.NewWriter(stderr)
	// Lines on stderr are wrapped, and those on stdout are wrapped by their Text.
	remarks := output.NewRemarks(stderr)
	p.Root.SetOut(out)
	p.Root.SetErr(remarks)
	notes := &notes{to: remarks, warned: map[string]bool{}}
	command, err := p.Root.ExecuteContextC(context.WithValue(ctx, notesKey{}, notes))
	notes.countUnprinted()
	if err == nil {
		return 0
	}
	var no *noError
	isNo := errors.As(err, &no)
	// The output has the answer already.
	if isNo && err.Error() == "" {
		return exitNo
	}
	if p.Explain != nil && !isNo {
		err = p.Explain(err)
	}
	// Only cobra's error about an unknown command lacks the way out.
	if command == p.Root && !strings.Contains(err.Error(), "--help") {
		err = p.explainUnknown(err)
	}
	if p.format == logJSON {
		p.json.printError(stderr, err)
	} else {
		terminal.PrintError(remarks, p.Name, err)
	}
	if isNo {
		return exitNo
	}
	return exitFailed
}

// maxWarnings limits the Warnings of servers that a command prints.
const maxWarnings = 20

// notes are the lines that a command prints on stderr while it runs.
type notes struct {
	to     io.Writer
	mutex  sync.Mutex
	warned map[string]bool
	more   int // Warnings that are not printed
}

type notesKey struct{}

func Note(ctx context.Context, line string) {
	if n, ok := ctx.Value(notesKey{}).(*notes); ok {
		_, _ = terminal.Fprintf(n.to, "%s\n", line)
	}
}

// Warn prints a Warning of a server on stderr as kubectl does, each text once, and of more than maxWarnings their
// number at the end of the command. ctx is of the command; with another, Warn prints nothing. A text may stand for
// several Warnings that the server left out, as "and 3 more".
func Warn(ctx context.Context, text string) {
	n, ok := ctx.Value(notesKey{}).(*notes)
	if !ok {
		return
	}
	n.mutex.Lock()
	defer n.mutex.Unlock()
	leftOut, _ := refusal.CutMore(text)
	switch {
	case leftOut > 0:
		n.more += leftOut
	// Printed once already: a hundred Records may have the same Warning.
	case n.warned[text]:
	default:
		if n.warned[text] = true; len(n.warned) > maxWarnings {
			n.more++
			return
		}
		_, _ = terminal.Fprintf(n.to, "Warning: %s\n", text)
	}
}

func (n *notes) countUnprinted() {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if n.more > 0 {
		_, _ = terminal.Fprintf(n.to, "Warning: %s\n", refusal.More(n.more))
	}
}

func (p *Program) explainUnknown(err error) error {
	var typed string
	var commands []string
	// cobra has no value for the unknown word.
	if _, scan := fmt.Sscanf(err.Error(), "unknown command %q", &typed); scan == nil {
		for _, command := range p.Root.Commands() {
			commands = append(commands, command.Name())
		}
	}
	return fmt.Errorf("%w;%s %s --help lists the commands", err, didYouMean("", similarWords(typed, commands)), p.Root.CommandPath())
}

// AddRun gives a command the flags of options, and no arguments. The command runs the configuration that Complete
// returns.
func AddRun[C interface {
	Run(ctx context.Context) error
}](command *cobra.Command, options interface {
	AddFlags(flags *pflag.FlagSet)
	Complete(out io.Writer) (C, error)
}) *cobra.Command {
	options.AddFlags(command.Flags())
	command.Args = cobra.NoArgs
	command.RunE = func(command *cobra.Command, _ []string) error {
		config, err := options.Complete(command.OutOrStdout())
		if err != nil {
			return err
		}
		return config.Run(command.Context())
	}
	return command
}
