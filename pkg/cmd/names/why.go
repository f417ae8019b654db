// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package names

import (
	"cmp"
	"context"
	"fmt"
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
	"kubi.zone/kubizone/pkg/cmd/output"
	"kubi.zone/kubizone/pkg/dns/serial"
)

func newWhy() *cobra.Command {
	q := newQuestion()
	return q.makeCommand(&cobra.Command{
		Use:   "why RECORD|NAME [TYPE]",
		Short: "follow a Record from the rule to each server",
		Long: `Follow a Record from the rule that admits it, by its zone and the classes of that, to each name server: one line for each
step. The first step that fails stands before all others, and the exit code is 1 then. RECORD is the name of the Record object,
or NAMESPACE/NAME; NAME is a DNS name, of whose Records each is followed, or those of TYPE.`,
		Example:           "  kubectl kubizone why -n team-a www\n  kubectl kubizone why www.example.org",
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: q.complete(listRecords((*v1alpha1.Record).GetName)),
	}, false, func(ctx context.Context, s *search, arguments []string) (*answer, error) {
		found, err := q.findFollowed(ctx, s, arguments)
		if err != nil {
			return nil, err
		}
		result := &traces{Traces: []*trace{}}
		for i := range found {
			t := &trace{api: s.api, record: &found[i], Namespace: found[i].Namespace, Record: found[i].Name}
			if err := t.followRecord(ctx); err != nil {
				return nil, err
			}
			result.Traces = append(result.Traces, t)
		}
		isNo := len(found) == 0 || slices.ContainsFunc(result.Traces, (*trace).fails)
		asked, where := strings.Join(arguments, " "), s.where()
		return &answer{kind: "Traces", result: result, isNo: isNo, text: func(page *output.Text) {
			if len(found) == 0 {
				page.Line("No Record of %s %s.", asked, where)
			}
			for _, t := range result.Traces {
				if len(found) > 1 {
					page.Line("%s/%s %s %s:", t.Namespace, t.Record, t.record.Status.FQDN, t.record.Spec.Type)
				}
				t.printText(page)
			}
		}}, nil
	})
}

// findFollowed returns the Record object of an argument, or else the Records at that DNS name.
func (q *question) findFollowed(ctx context.Context, s *search, arguments []string) ([]v1alpha1.Record, error) {
	at, err := q.cluster.Object(arguments[0], s.namespace)
	if err != nil {
		return nil, err
	}
	isName := strings.Contains(arguments[0], ".") && !strings.Contains(arguments[0], "/")
	record, err := s.api.Records(at.Namespace).Get(ctx, strings.TrimSuffix(at.Name, "."), metav1.GetOptions{})
	switch {
	case err == nil && len(arguments) == 1:
		return []v1alpha1.Record{*record}, nil
	case err != nil && !isName:
		return nil, fmt.Errorf("record %s: %w", at, err)
	case !isName:
		return nil, fmt.Errorf("%s is a Record, of which a TYPE says no more: leave %s out", at, arguments[1])
	}
	found, nearest, err := s.findName(ctx, arguments[0])
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(found, func(r v1alpha1.Record) bool {
		return nearest != "" || len(arguments) > 1 && !strings.EqualFold(r.Spec.Type, arguments[1])
	}), nil
}

const (
	stepOK      = "ok"
	stepFails   = "FAILS"
	stepWaits   = "waits"
	stepUnknown = "?"
)

type step struct {
	// Verdict is ok, FAILS, waits or ?.
	Verdict string `json:"verdict"`
	Step    string `json:"step"`
	Text    string `json:"text"`
}

type traces struct {
	Traces []*trace `json:"traces"`
}

type trace struct {
	Namespace string `json:"namespace"`
	Record    string `json:"record"`
	Steps     []step `json:"steps"`

	api    client.KubizoneV1alpha1Interface
	record *v1alpha1.Record
}

func (t *trace) note(verdict, what, format string, args ...any) {
	t.Steps = append(t.Steps, step{verdict, what, fmt.Sprintf(format, args...)})
}

func (t *trace) fails() bool { return t.findStep(stepFails) >= 0 }

func (t *trace) findStep(verdict string) int {
	return slices.IndexFunc(t.Steps, func(s step) bool { return s.Verdict == verdict })
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

func (t *trace) printText(text *output.Text) {
	var rows [][]string
	for _, s := range t.Steps {
		rows = append(rows, []string{s.Verdict, s.Step, s.Text})
	}
	for _, verdict := range []string{stepFails, stepWaits} {
		if i := t.findStep(verdict); i >= 0 {
			rows = slices.Insert(rows, 0, rows[i], nil)
			break
		}
	}
	text.Table(nil, rows)
}
