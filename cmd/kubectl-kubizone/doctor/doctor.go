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
	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/cmd/kubeconfig"
	"kubi.zone/kubizone/cmd/output"
	"kubi.zone/kubizone/cmd/program"
)

var (
	ErrFailed     = program.No("something is wrong: see CAUSE above")
	ErrUnanswered = errors.New("nothing could be checked: see CAUSE above")
	ErrUnread     = errors.New("whether zones are current could not be read: see zones above")
)

type Diagnosis struct {
	// Cause is the check that explains the other failures, or "".
	Cause  string    `json:"cause,omitempty"`
	Checks []Finding `json:"checks"`
}

func Results() map[string]any { return map[string]any{"Diagnosis": Diagnosis{}} }

func NewCommand() *cobra.Command {
	cluster := kubeconfig.NewOptions()
	command := &cobra.Command{
		Use:   "doctor",
		Short: "name the cause why zones are not current, and the next step",
		Long: `Check all between kube-apiserver and the name servers: APIServices, clocks, certificates, etcd, the servers, controller,
primary and the other processes, BIND servers and zones. At the end stand the cause, which explains the other failures, and
the next step; -o wide has a next step for each line. The command ends within five seconds, and changes nothing. The exit code is 0
if all zones are current and nothing fails, 1 if a check fails, 2 if kube-apiserver does not answer or you may not list zones.`,
		Example: "  kubectl kubizone doctor",
		Args:    cobra.NoArgs,
	}
	format := output.AddFormat(command)
	command.RunE = func(command *cobra.Command, _ []string) error {
		config, _, err := cluster.ProcessClient()
		if err != nil {
			return err
		}
		return diagnoseCluster(command.Context(), config, command.OutOrStdout(), format)
	}
	cluster.AddFlags(command.Flags())
	return command
}

// diagnoseCluster reads the facts, judges and prints them. The error gives the exit code: ErrFailed (1) after a FAIL,
// the others 2.
func diagnoseCluster(ctx context.Context, config *rest.Config, out io.Writer, format *output.Format) error {
	c, err := newCollector(config)
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	f := c.collectFacts(ctx)
	diagnosis := Diagnosis{Checks: judgeFacts(f, time.Now())}
	cause := findCause(diagnosis.Checks)
	if cause != nil {
		diagnosis.Cause = cause.Check
	}
	if err := format.Print(out, "Diagnosis", diagnosis, diagnosis.printText); err != nil {
		return err
	}
	switch {
	case f.versionErr != nil:
		return ErrUnanswered
	case cause != nil:
		return ErrFailed
	case !f.overview.ZonesRead:
		return ErrUnread
	}
	return nil
}

// printText prints a line for each check, with -o wide its next step too. The cause comes last, so a terminal shows the
// cause.
func (d *Diagnosis) printText(text *output.Text) {
	var rows [][]string
	for _, finding := range d.Checks {
		row := []string{string(finding.Status), finding.Check, finding.Message}
		if text.IsWide() {
			row = append(row, finding.Next)
		}
		rows = append(rows, row)
	}
	text.Table(nil, rows)
	if cause := findCause(d.Checks); cause != nil {
		text.Line("")
		text.Line("CAUSE: %s: %s", cause.Check, cause.Message)
		text.Line("NEXT: %s", cause.Next)
	}
}
