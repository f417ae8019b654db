// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	groups "kubi.zone/kubizone/pkg/cmd/cluster"
	"kubi.zone/kubizone/pkg/cmd/kubeconfig"
	"kubi.zone/kubizone/pkg/cmd/output"
	"kubi.zone/kubizone/pkg/cmd/program"
)

var (
	// ErrFailed is returned if a check failed.
	ErrFailed = program.No("something is wrong: see CAUSE above")
	// ErrUnanswered is returned if kube-apiserver did not answer.
	ErrUnanswered = errors.New("nothing could be checked: see CAUSE above")
)

// Status is the severity of a finding.
type Status string

const (
	OK   Status = "OK"
	Warn Status = "WARN"
	Fail Status = "FAIL"
)

// Finding is the result of a check. Next is empty if the status is OK.
type Finding struct {
	Check   string `json:"check"`
	Status  Status `json:"status"`
	Message string `json:"message"`
	Next    string `json:"next,omitempty"`
	Depth   Depth  `json:"-"` // of a FAIL
}

// Diagnosis is the result of the command.
type Diagnosis struct {
	// Cause is the check whose failure explains the others, or "".
	Cause  string    `json:"cause,omitempty"`
	Checks []Finding `json:"checks"`
}

// Results are the results of the command by their kinds.
func Results() map[string]any { return map[string]any{"Diagnosis": Diagnosis{}} }

// Depth orders FAILs: a deeper FAIL explains the others.
type Depth int

const (
	// Symptom is a fault that appears with any cause.
	Symptom Depth = iota - 2
	// Consequence is a fault with another cause, if found.
	Consequence
	// Own is an independent fault.
	Own
	// Root explains all other failures.
	Root
)

const (
	answerTime = 4500 * time.Millisecond

	timeLimit = 30 * time.Second
)

// NewCommand returns the sub-command.
func NewCommand() *cobra.Command {
	cluster := kubeconfig.NewOptions()
	command := &cobra.Command{
		Use:   "doctor",
		Short: "diagnose why a cluster does not serve the API, with the next step",
		Long: `Check what kubectl does not show between kube-apiserver and the server: the APIServices, whether their Service has a
ready endpoint, the served certificate and the trusted one, clocks, the permissions of the server, the resources that it
needs of this kube-apiserver, etcd, and objects whose namespace is gone. The likely cause and the next step stand in front;
the next step is one of helm where helm has the release. What does not answer is given up within five seconds. Nothing is
changed. The exit code is 1 if a check fails, 2 if kube-apiserver does not answer.`,
		Example: "  kubectl kubizone doctor",
		Args:    cobra.NoArgs,
	}
	format := output.AddFormat(command)
	command.RunE = func(command *cobra.Command, _ []string) error {
		return diagnoseCluster(command.Context(), cluster, command.OutOrStdout(), format)
	}
	cluster.AddFlags(command.Flags())
	return command
}

func diagnoseCluster(ctx context.Context, cluster *kubeconfig.Options, out io.Writer, format *output.Format) error {
	config, _, err := cluster.Client()
	if err != nil {
		return err
	}
	seen := newClocks()
	config.Wrap(seen.watch)
	config.QPS = -1 // by client-go's limit about fifty requests take eight seconds
	client, err := groups.NewForConfig(config)
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
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	found := collectFacts(ctx, client, registrations, objects, seen)
	if err := writeFindings(out, format, judgeFacts(found, time.Now())); err == nil || found.versionErr == nil {
		return err
	}
	return ErrUnanswered
}

func writeFindings(out io.Writer, format *output.Format, findings []Finding) error {
	diagnosis := Diagnosis{Checks: findings}
	cause := findCause(findings)
	if cause >= 0 {
		diagnosis.Cause = findings[cause].Check
	}
	if err := format.Print(out, "Diagnosis", diagnosis, func(text *output.Text) { printFindings(text, findings, cause) }); err != nil {
		return err
	}
	if cause >= 0 {
		return ErrFailed
	}
	return nil
}

func printFindings(text *output.Text, findings []Finding, cause int) {
	if cause >= 0 {
		text.Line("CAUSE: %s: %s", findings[cause].Check, findings[cause].Message)
		text.Line("NEXT:  %s", findings[cause].Next)
		text.Line("")
	}
	var rows [][]string
	for i, finding := range findings {
		rows = append(rows, []string{string(finding.Status), finding.Check, finding.Message})
		switch {
		case finding.Next == "" || i == cause:
		case finding.Status == Fail && finding.Depth < Own:
			rows = append(rows, []string{"", "", "next: repair the cause above first"})
		default:
			rows = append(rows, []string{"", "", "next: " + finding.Next})
		}
	}
	text.Table(nil, rows)
}
