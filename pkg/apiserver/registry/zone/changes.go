// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zone

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/law/content"
)

const restart = "zones/entries"

// prepareChanges checks a request for zones/changes, and reads its changes. It returns the function that writes the
// answer. After the first octet no error has a status code, so all that may fail comes before.
func (s *streams) prepareChanges(ctx context.Context, id string, query *v1alpha1.ZoneChangesOptions, accept string) (
	func(http.ResponseWriter) error, error) {
	if query.Form == v1alpha1.FormHistory {
		return s.prepareHistory(ctx, id, query, accept)
	}
	definition, err := formOf(query.Form)
	if err != nil {
		return nil, err
	}
	// 1. Check the query. A stored step with header and TTLs has no text form, and a table has no column for sources.
	offered := []string{v1alpha1.FormatJSON}
	if !query.Watch && !definition {
		offered = append(offered, v1alpha1.FormatText)
	}
	if !query.Watch && !definition && !query.Sources {
		offered = append(offered, v1alpha1.FormatTable)
	}
	format, err := negotiateFormat(query.Format, accept, offered...)
	if err != nil {
		return nil, err
	}
	if query.Limit != 0 || query.Continue != "" || query.SinceTime != "" || query.FQDN != "" {
		return nil, apierrors.NewBadRequest("query parameters limit, continue, sinceTime and fqdn are those of form=history")
	}
	if query.Sources {
		if format == v1alpha1.FormatText {
			return nil, apierrors.NewBadRequest("sources=true is answered in JSON")
		}
		if err := s.mayReadSources(ctx); err != nil {
			return nil, err
		}
	}
	since, until, err := serialsOf(query)
	if err != nil {
		return nil, err
	}
	// 2. Handle watches and ended zones.
	zone, err := s.getZone(ctx, id) // from etcd, so that the serial is the present serial
	if err != nil {
		return nil, err
	}
	if query.Watch {
		return s.prepareWatch(ctx, zone, query, since, definition)
	}
	// A provider's owner still has to remove the data of an ended zone, and reads here which RRsets (S3.7).
	if zone.Status.FQDN == "" && zone.Status.EndsAt != nil { // an ended zone
		if query.Since == 0 || query.Until != 0 || definition || format == v1alpha1.FormatText || format == v1alpha1.FormatTable {
			return nil, apierrors.NewResourceExpired(fmt.Sprintf("zone %s has ended, and its steps are no longer kept: ask for its last "+
				"entries in JSON, with since and without until, in the form entries", zone.Name))
		}
		return s.prepareEnded(ctx, zone, since)
	}
	if err := refusePending(zone); err != nil {
		return nil, err
	}

	// 3. Read the steps.
	snapshot, err := s.waitForSnapshot(ctx, zone)
	if err != nil {
		return nil, err
	}
	// Without until the answer ends at the present serial. Without since it begins at the oldest kept serial.
	until = cmp.Or(until, snapshot.Serial())
	if since == 0 {
		if since, err = s.Views.Oldest(ctx, zone); err != nil {
			return nil, ifNotHeld(err, expiredError(zone, until, restart))
		}
	}
	notHeld := expiredError(zone, since, restart)
	if query.Until != 0 {
		// Either serial may be unknown, or since may follow until.
		notHeld = apierrors.NewResourceExpired(fmt.Sprintf("the steps from serial %d (since) to serial %d (until) of zone %s are not "+
			"kept here: start again from %s, or leave until out", since, until, zone.Status.FQDN, restart))
	}
	// The journal drops old steps at any time, so these may be gone although Oldest named them just now.
	steps, changes, err := s.Views.Steps(ctx, zone, since, until, !definition)
	if err != nil {
		return nil, ifNotHeld(err, notHeld)
	}
	object := v1alpha1.ZoneChanges{
		TypeMeta: metav1.TypeMeta{Kind: "ZoneChanges", APIVersion: v1alpha1.SchemeGroupVersion.String()},
		FQDN:     zone.Status.FQDN, View: zone.Status.View, Since: int64(since), Until: int64(until),
	}
	if definition {
		return func(w http.ResponseWriter) error { return writeSteps(w, zone, object, steps, query.Sources) }, nil
	}
	switch format {
	case v1alpha1.FormatText:
		return func(w http.ResponseWriter) error { return writeDiff(w, zone, changes) }, nil
	case v1alpha1.FormatTable:
		return func(w http.ResponseWriter) error { return writeChangesTable(w, zone, steps, changes) }, nil
	}
	return func(w http.ResponseWriter) error {
		return writeChanges(w, zone, object, steps, changes, query.Sources)
	}, nil
}

// prepareEnded is prepareChanges for an ended zone. The answer has a single change, which removes all RRsets that a
// provider may have after the serial since.
func (s *streams) prepareEnded(ctx context.Context, zone *v1alpha1.Zone, since serial.Serial) (
	func(http.ResponseWriter) error, error) {
	fqdn, change, err := s.Views.EndedZone(ctx, zone, since)
	if err != nil {
		return nil, ifNotHeld(err, apierrors.NewResourceExpired(fmt.Sprintf("the entries of zone %s after serial %d, before it ended, "+
			"are no longer kept here: compare the entries of its provider", zone.Name, since)))
	}
	object := v1alpha1.ZoneChanges{
		TypeMeta: metav1.TypeMeta{Kind: "ZoneChanges", APIVersion: v1alpha1.SchemeGroupVersion.String()},
		FQDN:     fqdn.String(), View: zone.Status.View, Since: int64(since), Until: int64(change.To),
	}
	return func(w http.ResponseWriter) error {
		// An empty step: the end has no time and no user here.
		return writeChanges(w, zone, object, []content.Step{{}}, []dns.Change{change}, false)
	}, nil
}

func writeChanges(w http.ResponseWriter, zone *v1alpha1.Zone, object v1alpha1.ZoneChanges, steps []content.Step,
	changes []dns.Change, sources bool) error {
	list := beginList(w, object, "changes")
	for i, change := range changes {
		if !list.writeItem(apiChange(change, steps[i], sources)) {
			break
		}
	}
	return list.finishList(metaOf(zone))
}

// apiChange returns a change of serial for the API. Only with sources does it name the user, Record and traceparent.
func apiChange(change dns.Change, step content.Step, sources bool) v1alpha1.ZoneChange {
	out := v1alpha1.ZoneChange{
		From: int64(change.From), To: int64(change.To), Time: apiTime(step.Time),
		Removed: apiEntries(change.Removed), Added: apiEntries(change.Added),
	}
	if sources {
		out.By, out.Traceparent = step.By, step.Trace
		if ref := step.Record; ref != nil {
			out.Record = &v1alpha1.RecordReference{Namespace: ref.Namespace, Name: ref.Name}
		}
	}
	return out
}

func writeSteps(w http.ResponseWriter, zone *v1alpha1.Zone, object v1alpha1.ZoneChanges, steps []content.Step, sources bool) error {
	list := beginList(w, object, "steps")
	for _, step := range steps {
		if !list.writeItem(apiStep(step, sources)) {
			break
		}
	}
	return list.finishList(metaOf(zone))
}

var changeColumns = append([]metav1.TableColumnDefinition{
	{Name: "Serial", Type: "integer", Format: "int64", Description: "The serial after the change."},
	{Name: "Change", Type: "string", Description: "- for a removed entry, + for an added entry."},
}, append(entryColumns[:len(entryColumns):len(entryColumns)],
	metav1.TableColumnDefinition{Name: "Time", Type: "string", Format: "date-time", Priority: 1, Description: "When the change was " +
		"committed."})...)

// writeChangesTable writes a row for each removed and added entry, for clients that ask for a Table.
func writeChangesTable(w http.ResponseWriter, zone *v1alpha1.Zone, steps []content.Step, changes []dns.Change) error {
	list := beginTable(w, changeColumns)
	for i, change := range changes {
		var at string
		if committed := apiTime(steps[i].Time); committed != nil {
			at = committed.Format(time.RFC3339)
		}
		write := func(sign string, entries []dns.Entry) {
			for _, entry := range entries {
				list.writeRow(zone, entry.Name.String(), int64(change.To), sign, entry.Name.String(), entry.TTL,
					string(v1alpha1.ClassIN), entry.Type.String(), entry.Data, at)
			}
		}
		// As in IXFR (RFC 1995 §4), the removed entries precede the added entries.
		write("-", change.Removed)
		write("+", change.Added)
	}
	return list.finishList(v1alpha1.ZoneViewMeta{})
}

// writeDiff writes the changes as text, a line each: "- www.example.org. 360 IN A 192.0.2.1" for a removed entry.
func writeDiff(w http.ResponseWriter, zone *v1alpha1.Zone, changes []dns.Change) error {
	stream := newStream(w, v1alpha1.FormatText)
	stream.writeComment("changes of zone " + zone.Status.FQDN)
	for _, change := range changes {
		stream.writeComment(fmt.Sprintf("serial %d to %d", change.From, change.To))
		for _, entry := range change.Removed {
			_, _ = stream.WriteString("- " + entry.String() + "\n") // Flush reports errors
		}
		for _, entry := range change.Added {
			_, _ = stream.WriteString("+ " + entry.String() + "\n")
		}
	}
	return stream.Flush()
}

func apiEntries(entries []dns.Entry) []v1alpha1.Entry {
	var out []v1alpha1.Entry
	for _, entry := range entries {
		out = append(out, apiEntry(entry))
	}
	return out
}

// apiStep returns a step as stored, with names relative to the zone and TTLs as defined. Only with sources does it have
// the traceparent.
func apiStep(step content.Step, sources bool) v1alpha1.ZoneStep {
	out := v1alpha1.ZoneStep{
		ContentGeneration: int64(step.N), Serial: int64(step.Serial), ContentState: step.State.String(), Time: apiTime(step.Time),
		Removed: apiRows(step.Removed), Added: apiRows(step.Added),
	}
	if step.HeaderBefore != nil {
		out.HeaderBefore = apiHeader(*step.HeaderBefore)
	}
	if step.HeaderAfter != nil {
		out.HeaderAfter = apiHeader(*step.HeaderAfter)
	}
	for _, change := range step.TTLs {
		out.TTLs = append(out.TTLs, v1alpha1.TTLChange{
			Owner: change.Owner.String(), Type: change.Type.String(), Before: apiTTL(change.Before), After: apiTTL(change.After),
		})
	}
	if sources {
		out.Traceparent = step.Trace
	}
	return out
}
