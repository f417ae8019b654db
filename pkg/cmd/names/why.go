// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package names

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	client "kubi.zone/kubizone/api/client/clientset/versioned/typed/kubizone/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/terminal"
)

func newWhy() *cobra.Command {
	q := newQuestion()
	return q.makeCommand(&cobra.Command{
		Use:   "why RECORD",
		Short: "follow a Record from the rule to each server",
		Long: `Follow a Record from the rule that admits it, by its zone and the classes of that, to each name server: one line for each
step. The first step that fails stands before all others, and the exit code is 1 then. RECORD is the name of the Record object,
or NAMESPACE/NAME.`,
		Example:           "  kubectl kubizone why -n team-a www",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: q.complete(listRecords((*v1alpha1.Record).GetName)),
	}, false, func(ctx context.Context, s *search, arguments []string, out io.Writer) error {
		at, err := q.cluster.Object(arguments[0], s.namespace)
		if err != nil {
			return err
		}
		record, err := s.api.Records(at.Namespace).Get(ctx, at.Name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("record %s: %w", at, err)
		}
		t := &trace{api: s.api, record: record}
		if err := t.followRecord(ctx); err != nil {
			return err
		}
		return t.printSteps(out)
	})
}

const (
	stepOK      = "ok"
	stepFails   = "FAILS"
	stepWaits   = "waits"
	stepUnknown = "?"
)

type step struct{ verdict, text string }

type trace struct {
	api    client.KubizoneV1alpha1Interface
	record *v1alpha1.Record
	steps  []step
}

func (t *trace) note(verdict, what, format string, args ...any) {
	var text strings.Builder
	terminal.Fprintf(&text, "%-5s  %-9s  "+format, append([]any{verdict, what}, args...)...)
	t.steps = append(t.steps, step{verdict, text.String()})
}

func (t *trace) noteCondition(what string, conditions []metav1.Condition, kind string) bool {
	c := meta.FindStatusCondition(conditions, kind)
	if c == nil {
		t.note(stepUnknown, what, "no condition %s yet", kind)
		return false
	}
	verdict := map[metav1.ConditionStatus]string{metav1.ConditionTrue: stepOK, metav1.ConditionFalse: stepFails}[c.Status]
	t.note(cmp.Or(verdict, stepWaits), what, "%s: %s", c.Reason, c.Message)
	return verdict == stepOK
}

func (t *trace) followRecord(ctx context.Context) error {
	r := t.record
	if !t.noteCondition("rule", r.Status.Conditions, v1alpha1.ConditionAdopted) || r.Status.ZoneRef == nil {
		return nil
	}
	ref := r.Status.ZoneRef
	zone, err := t.api.Zones(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err):
		t.note(stepUnknown, "zone", "not shown: the right to get zones in namespace %s shows it", ref.Namespace)
	case err != nil:
		return fmt.Errorf("zone %s/%s: %w", ref.Namespace, ref.Name, err)
	default:
		for _, kind := range []string{v1alpha1.ConditionDelegated, v1alpha1.ConditionServable, v1alpha1.ConditionSettled} {
			t.noteCondition(kind, zone.Status.Conditions, kind)
		}
	}
	if err := t.followDeliveries(ctx, ref); err != nil {
		return err
	}
	t.noteCondition("Ready", r.Status.Conditions, v1alpha1.ConditionReady)
	if failed := r.Status.LastDeliveryError; failed != "" {
		t.note(stepFails, "provider", "%s", failed)
	}
	return nil
}

func (t *trace) followDeliveries(ctx context.Context, ref *v1alpha1.AdoptingZone) error {
	list, err := t.api.Deliveries(ref.Namespace).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector(v1alpha1.FieldDeliveryZoneName, ref.Name).String()})
	if apierrors.IsForbidden(err) {
		t.note(stepUnknown, "class", "not shown: the right to list deliveries in namespace %s shows it", ref.Namespace)
		return nil
	}
	if err != nil {
		return fmt.Errorf("deliveries of zone %s/%s: %w", ref.Namespace, ref.Name, err)
	}
	for i := range list.Items {
		d := &list.Items[i]
		if d.Spec.Zone.UID != ref.UID {
			continue
		}
		what, s := "class", &d.Status
		of := class.NameOf(d.Namespace, d.Spec.ClassRef)
		switch {
		case t.has(s.Serial):
			t.note(stepOK, what, "%s has confirmed serial %d, which has the Record", of, s.Serial)
		case s.Error != nil:
			t.note(stepFails, what, "%s has confirmed serial %d, and the Record is in serial %d: %s", of, s.Serial, t.record.Status.Serial,
				s.Error.Message)
		default:
			t.note(stepWaits, what, "%s has confirmed serial %d, and the Record is in serial %d", of, s.Serial, t.record.Status.Serial)
		}
		for j := range s.Servers {
			row := &s.Servers[j]
			verdict := stepWaits
			switch {
			case row.State == v1alpha1.ServerFailed:
				verdict = stepFails
			case t.has(row.Serial):
				verdict = stepOK
			}
			t.note(verdict, "server", "%s of %s: %s, serial %d %s", row.Name, of, row.State, row.Serial, row.Message)
		}
	}
	return nil
}

func (t *trace) has(confirmed int64) bool {
	if confirmed == 0 {
		return false
	}
	x, y := serial.Serial(confirmed), serial.Serial(t.record.Status.Serial)
	return x == y || x.Ahead(y)
}

func (t *trace) printSteps(out io.Writer) (err error) {
	var text strings.Builder
	for _, verdict := range []string{stepFails, stepWaits} {
		if i := slices.IndexFunc(t.steps, func(s step) bool { return s.verdict == verdict }); i >= 0 {
			text.WriteString(t.steps[i].text + "\n\n")
			break
		}
	}
	for _, s := range t.steps {
		text.WriteString(s.text + "\n")
		if s.verdict == stepFails {
			err = ErrNo
		}
	}
	if _, failed := io.WriteString(out, text.String()); failed != nil {
		return failed
	}
	return err
}
