// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/kit/terminal"
)

const None = "<none>"

func OrNone(text string) string {
	if text == "" {
		return None
	}
	return text
}

func Ready(conditions []metav1.Condition) string {
	if ready := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady); ready != nil {
		return string(ready.Status)
	}
	return string(metav1.ConditionUnknown)
}

// Message returns the reason and message of the first of the conditions in types whose status is not True, for a column
// of kubectl get, or None. The reason DelegationWithdrawn counts as not True, because the object is about to leave its
// zone.
func Message(conditions []metav1.Condition, types ...string) string {
	for _, conditionType := range types {
		condition := meta.FindStatusCondition(conditions, conditionType)
		switch {
		case condition == nil || condition.Status == metav1.ConditionTrue && condition.Reason != v1alpha1.ReasonDelegationWithdrawn:
		case condition.Message == "":
			return condition.Reason
		default:
			return condition.Reason + ": " + condition.Message
		}
	}
	return None
}

// Class returns NAME for a DNSClass, KIND/NAME for another kind.
func Class(ref v1alpha1.DNSClassReference) string {
	if ref.Kind == v1alpha1.KindDNSClass {
		return ref.Name
	}
	return string(ref.Kind) + "/" + ref.Name
}

func Age(created metav1.Time) string {
	if created.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(time.Since(created.Time))
}

// Shorten truncates text to a number of characters, with "…" last.
func Shorten(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most-1]) + "…"
}

// makeTable returns the Table of an object or list, a row each.
func makeTable[T runtime.Object](columns []metav1.TableColumnDefinition, obj, options runtime.Object, row func(T) []any) (
	*metav1.Table, error) {
	table := &metav1.Table{}
	if opt, ok := options.(*metav1.TableOptions); !ok || !opt.NoHeaders {
		table.ColumnDefinitions = columns
	}
	// Names and messages may come from other tenants. Their control characters must not reach a terminal.
	add := func(obj runtime.Object) error {
		cells := row(obj.(T))
		for i, cell := range cells {
			if text, ok := cell.(string); ok {
				cells[i] = terminal.Escape(text) // kubectl escapes only ESC
			}
		}
		table.Rows = append(table.Rows, metav1.TableRow{Cells: cells, Object: runtime.RawExtension{Object: obj}})
		return nil
	}
	if !meta.IsListType(obj) {
		if err := add(obj); err != nil {
			return nil, err
		}
		if accessor, err := meta.CommonAccessor(obj); err == nil {
			table.ResourceVersion = accessor.GetResourceVersion()
		}
		return table, nil
	}
	if err := meta.EachListItem(obj, add); err != nil {
		return nil, err
	}
	if accessor, err := meta.ListAccessor(obj); err == nil {
		table.ResourceVersion = accessor.GetResourceVersion()
		table.Continue = accessor.GetContinue()
		table.RemainingItemCount = accessor.GetRemainingItemCount()
	}
	return table, nil
}
