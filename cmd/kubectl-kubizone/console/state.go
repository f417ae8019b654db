// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"cmp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/client/overview"
)

// state is a word, for example "stalled", and a Kind (ok, waits, fails or off) with a sign and a colour.
type state struct{ Kind, Word string }

func (s state) Sign() string {
	return map[string]string{"ok": "✓", "waits": "…", "fails": "✗", "off": "‖"}[s.Kind]
}

type zoneRow struct {
	Namespace, Name, FQDN, View string
	State                       state
	Signs                       []state
	Reason, Message             string
	Serial, Entries             int64
	Since                       *metav1.Time
	Depth                       int
	Classes                     []string

	key, parent string
	named       bool // has dnsClassRefs
}

func (z *zoneRow) Title() string { return cmp.Or(z.FQDN, z.Name) }

func zoneRowOf(zone *v1alpha1.Zone) *zoneRow {
	row := &zoneRow{Namespace: zone.Namespace, Name: zone.Name, FQDN: cmp.Or(zone.Status.FQDN, zone.Spec.DomainName),
		View: zone.Status.View, Serial: zone.Status.Serial, Entries: zone.Status.EntryCount, key: zone.Namespace + "/" + zone.Name}
	if above := zone.Status.ParentRef; above != nil {
		row.parent = above.Namespace + "/" + above.Name
	}
	for _, ref := range zone.Spec.DNSClassRefs {
		row.Classes = append(row.Classes, ref.Name)
	}
	row.named = len(row.Classes) > 0
	of := overview.StateOf(zone, zone.Status.Conditions)
	row.State, row.Reason, row.Message, row.Since = showState(of), of.Reason, of.Message, of.Since
	row.Signs = signsOf(zone, of)
	return row
}

// kinds gives each word of a State its colour and sign.
var kinds = map[string]string{overview.Current: "ok", overview.NotCurrent: "fails", overview.Stalled: "fails", overview.Behind: "waits",
	overview.Pending: "waits", overview.Deleted: "waits", overview.Waiting: "waits"}

func showState(of overview.State) state { return state{kinds[of.Word], of.Word} }

// signsOf returns the signs beside the state of a zone, several at once: held, no class, paused, withdrawn, and the
// phase of DNSSEC.
func signsOf(zone *v1alpha1.Zone, of overview.State) (signs []state) {
	marks := overview.MarksOf(zone)
	if marks.Held != nil {
		signs = append(signs, state{"fails", "held"})
	}
	if of.Reason == v1alpha1.ReasonNoClass {
		signs = append(signs, state{"off", "no class"})
	}
	if marks.Paused {
		signs = append(signs, state{"off", "paused"})
	}
	if marks.EndsAt != nil {
		signs = append(signs, state{"waits", "withdrawn"})
	}
	if of := zone.Status.DNSSEC; of != nil {
		kind := "waits"
		if of.Phase == v1alpha1.DNSSECSigned {
			kind = "ok"
		}
		signs = append(signs, state{kind, strings.ToLower(string(of.Phase))})
	}
	return signs
}

func orderZones(a, b *zoneRow) int {
	return cmp.Or(cmp.Compare(a.FQDN, b.FQDN), cmp.Compare(a.View, b.View), cmp.Compare(a.key, b.key))
}
