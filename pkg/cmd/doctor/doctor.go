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
	Check   string
	Status  Status
	Message string
	Next    string
}

// timeLimit is that of the whole run.
const timeLimit = 30 * time.Second

// NewCommand is the sub-command.
func NewCommand() *cobra.Command {
	cluster := kubeconfig.NewOptions()
	command := &cobra.Command{
		Use:   "doctor",
		Short: "diagnose why a cluster does not serve the API, with the next step",
		Long: `Check what kubectl does not show between kube-apiserver and the server: the APIServices, whether their Service has a
ready endpoint, the served certificate and the trusted one, the permissions of the server, the resources that it needs
of this kube-apiserver, etcd, and objects whose namespace is gone. Nothing is changed. The exit code is 1 if a check
fails, 2 if kube-apiserver does not answer.`,
		Example: "  kubizone doctor",
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return diagnoseCluster(command.Context(), cluster, command.OutOrStdout())
		},
	}
	cluster.AddFlags(command.Flags())
	return command
}

// diagnoseCluster checks and writes the findings. The error is ErrFailed if one of them is a FAIL, and ErrUnanswered if
// kube-apiserver did not answer.
func diagnoseCluster(ctx context.Context, cluster *kubeconfig.Options, out io.Writer) error {
	config, _, err := cluster.Client()
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
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	seen := collectFacts(ctx, client, registrations, objects)
	if err := writeFindings(out, judgeFacts(seen, time.Now())); err == nil || seen.versionErr == nil {
		return err
	}
	return ErrUnanswered
}

// writeFindings writes a line for each.
func writeFindings(out io.Writer, findings []Finding) error {
	failed := false
	for _, finding := range findings {
		failed = failed || finding.Status == Fail
		line := fmt.Sprintf("%-4s  %-12s  %s", finding.Status, finding.Check, finding.Message)
		if finding.Next != "" {
			line += "; next: " + finding.Next
		}
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
	}
	if failed {
		return ErrFailed
	}
	return nil
}
