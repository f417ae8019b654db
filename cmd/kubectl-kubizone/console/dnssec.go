// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

// dnssecPart is the DNSSEC tab of a zone's page. Links are the chain of trust: the DS records at the parent zone, the
// keys, and the signatures.
type dnssecPart struct {
	Links []link
	// Next describes the next step of signing, or the action of a person that it needs.
	Next string
	// Date is the time of the next step; nil if unknown.
	Date *time.Time
}

type link struct {
	Title, Text string
	State       state
	Lines       []string
}

// readDNSSEC makes the DNSSEC tab from the Zone's status. Only the DS records of the parent zone need another request.
func readDNSSEC(ctx context.Context, r *reading, zone *v1alpha1.Zone) *dnssecPart {
	part := &dnssecPart{}
	of := zone.Status.DNSSEC
	if of == nil {
		part.Links = []link{{"Zone", "The zone is not signed.", state{"off", "unsigned"}, nil}}
		part.Next = "set spec.dnssec.policy of the Zone; its class needs a signer (docs/dnssec.md)"
		if zone.Spec.DNSSEC != nil {
			// The controller for signing has not written status.dnssec yet.
			part.Links[0].Text, part.Links[0].State = "The policy is set, and no controller has begun.", state{"waits", "waits"}
			part.Next = "wait for the controller, or read kubectl kubizone doctor"
		}
		return part
	}
	var digests []string
	for _, ds := range of.DS {
		// Digests are compared as text with the parent's entries, so both are in capitals.
		digests = append(digests, fmt.Sprintf("%d %d %d %s", ds.KeyTag, ds.Algorithm, ds.DigestType, strings.ToUpper(ds.Digest)))
	}
	part.Links = []link{r.parentLink(ctx, zone, digests)}
	keys := link{"Keys of the zone", "DS records for the parent.", state{"ok", "ready"}, digests}
	if len(digests) == 0 {
		keys.Text, keys.State = "There are no DS records for the parent yet.", state{"waits", "none yet"}
	}
	signer := ""
	if of.Signer != nil {
		signer = "Signed by " + of.Signer.Namespace + "/" + of.Signer.Name + " with policy " + of.Policy + "."
	}
	phase := link{"Signatures", strings.TrimSpace(signer + " " + of.Message), state{"waits", strings.ToLower(string(of.Phase))}, nil}
	if of.Phase == v1alpha1.DNSSECSigned {
		phase.State.Kind = "ok"
	}
	part.Links = append(part.Links, keys, phase)
	// Without the DS at the parent, resolvers take a signed zone as unsigned: the next step is then at the parent.
	part.Next, part.Date = nextOf(of, part.Links[0].State.Kind == "ok"), untilOf(of.Message)
	return part
}

// parentLink compares the DS records of the zone with those in the parent zone. The state is "off" if the parent zone
// is not at this Kubizone.
func (r *reading) parentLink(ctx context.Context, zone *v1alpha1.Zone, digests []string) link {
	at := link{"Parent", "", state{"off", "not here"}, nil}
	above := zone.Status.ParentRef
	if above == nil {
		at.Text = "No parent zone is here: enter the DS records where the parent is kept."
		return at
	}
	list, err := r.readEntries(ctx, types.NamespacedName{Namespace: above.Namespace, Name: above.Name}, pageEntries,
		map[string]string{"name": zone.Status.FQDN, "type": "DS"})
	if err != nil {
		// The parent zone often belongs to another team: a missing right there leaves the rest of the tab intact.
		at.State, at.Text = state{"waits", "not shown"}, lackOf(err, "get", "zones/entries", above.Namespace).Error()
		return at
	}
	for _, entry := range list.Entries {
		at.Lines = append(at.Lines, strings.ToUpper(entry.RData))
	}
	at.State, at.Text = state{"ok", "agrees"}, "The parent has the DS records of the zone."
	missing := slices.ContainsFunc(digests, func(one string) bool { return !slices.Contains(at.Lines, one) })
	foreign := slices.ContainsFunc(at.Lines, func(one string) bool { return !slices.Contains(digests, one) })
	switch {
	case len(at.Lines) == 0:
		at.State, at.Text = state{"waits", "no DS"}, "The parent has no DS record: resolvers take the zone as unsigned."
	case foreign:
		// A DS of a key that the zone lacks breaks the chain of trust if no other DS is right: resolvers answer
		// SERVFAIL.
		at.State, at.Text = state{"fails", "differs"}, "The parent has a DS record that is none of the zone."
	case missing:
		at.State, at.Text = state{"waits", "incomplete"}, "The parent lacks a DS record of the zone."
	}
	return at
}

func untilOf(message string) *time.Time {
	_, text, _ := strings.Cut(message, ", until ")
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return &at
	}
	return nil
}

// nextOf returns the next step of signing, by the phase of status.dnssec (S12.5). The parent has the DS records if
// trusted is true.
func nextOf(of *v1alpha1.ZoneDNSSECStatus, trusted bool) string {
	switch of.Phase {
	case v1alpha1.DNSSECSigning:
		return "the signer signs the zone; servers still have it unsigned"
	case v1alpha1.DNSSECMoving:
		return "every server answers signed"
	case v1alpha1.DNSSECSigned:
		switch {
		case len(of.DS) == 0:
			return "the DS records come when answers without signatures have left the caches (S12.6)"
		case !trusted:
			return "the parent takes the DS records: by ds: true in its rule, or by hand"
		case of.Message != "":
			// The message names an obstacle of the rollover, for example a server of the parent that does not answer
			// (S12.6).
			return "that of the signatures above"
		}
		return "none: keys roll over by themselves"
	case v1alpha1.DNSSECWithdrawing:
		return "the parent's servers drop the DS records"
	case v1alpha1.DNSSECExpiring:
		return "the DS records expire in resolvers; then servers return to the unsigned zone"
	}
	// Returning: the DS records have expired everywhere.
	return "every server answers unsigned"
}
