// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/pkg/cmd/kubeconfig"
	"kubi.zone/kubizone/pkg/cmd/program"
	"kubi.zone/kubizone/pkg/terminal"
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
	Check   string
	Status  Status
	Message string
	Next    string
	Depth   Depth // of a FAIL
}

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
		RunE: func(command *cobra.Command, _ []string) error {
			return diagnoseCluster(command.Context(), cluster, command.OutOrStdout())
		},
	}
	cluster.AddFlags(command.Flags())
	return command
}

func diagnoseCluster(ctx context.Context, cluster *kubeconfig.Options, out io.Writer) error {
	config, _, err := cluster.Client()
	if err != nil {
		return err
	}
	seen := newClocks()
	config.Wrap(seen.watch)
	config.QPS = -1 // by client-go's limit about fifty requests take eight seconds
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
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	found := collectFacts(ctx, client, registrations, objects, seen)
	if err := writeFindings(out, judgeFacts(found, time.Now())); err == nil || found.versionErr == nil {
		return err
	}
	return ErrUnanswered
}

func writeFindings(out io.Writer, findings []Finding) error {
	var text strings.Builder
	cause := findCause(findings)
	if cause >= 0 {
		terminal.Fprintf(&text, "CAUSE: %s: %s\nNEXT:  %s\n\n", findings[cause].Check, findings[cause].Message, findings[cause].Next)
	}
	for i, finding := range findings {
		terminal.Fprintf(&text, "%-4s  %-12s  %s\n", finding.Status, finding.Check, finding.Message)
		switch {
		case finding.Next == "" || i == cause:
		case finding.Status == Fail && finding.Depth < Own:
			terminal.Fprintf(&text, "%20snext: repair the cause above first\n", "")
		default:
			terminal.Fprintf(&text, "%20snext: %s\n", "", finding.Next)
		}
	}
	if _, err := io.WriteString(out, text.String()); err != nil {
		return err
	}
	if cause >= 0 {
		return ErrFailed
	}
	return nil
}
