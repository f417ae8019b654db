// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/pkg/cmd/kubeconfig"
)

var (
	// ErrFailed says that a check failed.
	ErrFailed = errors.New("something is wrong: see FAIL above")
	// ErrUnanswered says that kube-apiserver did not answer.
	ErrUnanswered = errors.New("nothing could be checked: see FAIL above")
)

// Status is how bad a finding is.
type Status string

const (
	OK   Status = "OK"
	Warn Status = "WARN"
	Fail Status = "FAIL"
)

// Finding is the outcome of one check. Next is the next step, empty with OK.
type Finding struct {
	Check   string `json:"check"`
	Status  Status `json:"status"`
	Message string `json:"message"`
	Next    string `json:"next,omitempty"`
}

// Options are the flags.
type Options struct {
	kubeconfig *kubeconfig.Options
	// APIService is the registration to check.
	APIService string
	// Output is text or json.
	Output  string
	Timeout time.Duration
}

// NewOptions are the defaults.
func NewOptions() *Options {
	return &Options{kubeconfig: kubeconfig.NewOptions(), APIService: "v1alpha1.kubi.zone", Output: "text", Timeout: 30 * time.Second}
}

// AddFlags binds the options to flags.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	o.kubeconfig.AddFlags(flags)
	flags.StringVar(&o.APIService, "apiservice", o.APIService, "APIService of the server")
	flags.StringVarP(&o.Output, "output", "o", o.Output, "text, one line a check, or json")
	flags.DurationVar(&o.Timeout, "timeout", o.Timeout, "time limit of the whole run")
}

// Validate reports all that is wrong with the options.
func (o *Options) Validate() error {
	var wrong []error
	if o.APIService == "" {
		wrong = append(wrong, errors.New("--apiservice: must not be empty"))
	}
	if o.Output != "text" && o.Output != "json" {
		wrong = append(wrong, fmt.Errorf("--output %q: must be text or json", o.Output))
	}
	if o.Timeout <= 0 {
		wrong = append(wrong, fmt.Errorf("--timeout %s: must be positive", o.Timeout))
	}
	return errors.Join(wrong...)
}

// NewCommand is the sub-command.
func NewCommand() *cobra.Command {
	options := NewOptions()
	command := &cobra.Command{
		Use:   "doctor",
		Short: "diagnose why a cluster does not serve the API, with the next step",
		Long: `Check what kubectl does not show between kube-apiserver and the server: why an APIService is not available, whether its
Service has a ready endpoint, the served certificate and the trusted one, the permissions of the server, the resources
that it needs of this kube-apiserver, etcd, and objects whose namespace is gone. Nothing is changed. The exit code is 1
if a check fails, 2 if kube-apiserver does not answer.`,
		Example: "  kubizone doctor\n  kubizone doctor -o json",
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := options.Validate(); err != nil {
				return err
			}
			return options.Run(command.Context(), command.OutOrStdout())
		},
	}
	options.AddFlags(command.Flags())
	utilruntime.Must(command.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"text", "json"},
		cobra.ShellCompDirectiveNoFileComp)))
	return command
}

// Run checks and writes the findings. The error is ErrFailed if one of them is a FAIL, and ErrUnanswered if
// kube-apiserver did not answer.
func (o *Options) Run(ctx context.Context, out io.Writer) error {
	config, _, err := o.kubeconfig.Client()
	if err != nil {
		return err
	}
	config.QPS = -1 // client-go's limit would stretch some fifty requests over eight seconds
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	registrations, err := aggregator.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	objects, err := versioned.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	seen := collectFacts(ctx, client, registrations, objects, o.APIService)
	if err := writeFindings(out, judgeFacts(seen, time.Now()), o.Output); err == nil || seen.versionErr == nil {
		return err
	}
	return ErrUnanswered
}

func writeFindings(out io.Writer, findings []Finding, form string) error {
	failed := false
	for _, finding := range findings {
		failed = failed || finding.Status == Fail
	}
	var err error
	if form == "json" {
		var text []byte
		if text, err = json.MarshalIndent(map[string]any{"ok": !failed, "checks": findings}, "", "  "); err == nil {
			_, err = fmt.Fprintf(out, "%s\n", text)
		}
	} else {
		for _, finding := range findings {
			line := fmt.Sprintf("%-4s  %-12s  %s", finding.Status, finding.Check, finding.Message)
			if finding.Next != "" {
				line += "; next: " + finding.Next
			}
			if _, err = fmt.Fprintln(out, line); err != nil {
				break
			}
		}
	}
	if err == nil && failed {
		err = ErrFailed
	}
	return err
}
