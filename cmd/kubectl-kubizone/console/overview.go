// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"net/http"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/client/overview"
)

const (
	overviewZones = 50
	// overviewMost limits each list except zones, because a longer list would delay the page.
	overviewMost = 200
)

type overviewPage struct {
	*overview.Overview
	Parts []overviewPart
	First []*zoneRow
}

func (o *overviewPage) More() int64 { return o.Zones - int64(len(o.First)) }

func (o *overviewPage) Most() int { return overviewMost }

type overviewPart struct {
	Title, When, Hint string
	Items             []overview.Item
	Rest              int
}

const partRows = 20

func (o *overviewPage) addPart(title, when, hint string, items []overview.Item) {
	if len(items) == 0 {
		return
	}
	part := overviewPart{Title: title, When: when, Hint: hint, Items: items}
	if part.Rest = len(items) - partRows; part.Rest > 0 {
		part.Items = items[:partRows]
	}
	o.Parts = append(o.Parts, part)
}

// loadOverview reads the status as kubectl kubizone status does, and the first zones in the order of their names. Each
// part has the command that helps, for the terminal.
func loadOverview(r *reading, request *http.Request) (any, error) {
	var zones []*zoneRow
	of := r.status.Read(request.Context(), func(zone *v1alpha1.Zone) { zones = append(zones, zoneRowOf(zone)) })
	slices.SortFunc(zones, orderZones)
	o := &overviewPage{Overview: of, First: zones[:min(len(zones), overviewZones)]}
	o.addPart("Not current", "Since", "kubectl kubizone status -o wide", of.NotCurrent)
	o.addPart("Held", "Since", "kubectl annotate zone -n NAMESPACE NAME "+v1alpha1.AnnotationPublishDeletions+"=SERIAL", of.Held)
	o.addPart("Paused", "", "kubectl annotate zone -n NAMESPACE NAME "+v1alpha1.AnnotationPaused+"-", of.Paused)
	o.addPart("Withdrawn", "Ends in", "kubectl kubizone why -n NAMESPACE RECORD", of.Withdrawn)
	o.addPart("Refused in the last hour", "Since", "kubectl kubizone status -o wide", of.Refused)
	o.addPart("No class", "Since",
		`kubectl patch zone -n NAMESPACE NAME --type=merge -p '{"spec":{"dnsClassRefs":[{"name":"CLASS"}]}}'`, of.NoClass)
	return o, nil
}

// overviewSources omits the Installation, which has no watch.
func overviewSources(r *reading, _ *http.Request) (all []source) {
	for _, namespace := range r.scope() {
		all = append(all, source{"zones", namespace, nil}, source{"updatekeys", namespace, nil})
		for _, open := range overview.OpenRecords {
			all = append(all, source{"records", namespace, open})
		}
	}
	return append(all, source{resource: "dnsclasses"})
}

func (o *overviewPage) CertificateState(at metav1.Time) state {
	switch left := at.Sub(o.Time.Time); {
	case left <= 0:
		return state{"fails", "ended"}
	case left < overview.EndsSoon:
		return state{"waits", "ends soon"}
	}
	return state{"ok", "valid"}
}

func (o *overviewPage) BackupState() state {
	if o.Time.Sub(o.Installation.LastBackup.Time) > overview.BackupLate {
		return state{"waits", "late"}
	}
	return state{"ok", "taken"}
}

func (o *overviewPage) Kind() string {
	return map[string]string{"ok": "ok", "no": "fails", "error": "fails"}[o.Verdict()]
}
