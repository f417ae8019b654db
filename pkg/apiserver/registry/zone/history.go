// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zone

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/law/content"
)

// History reads past changes of zones, for the subresource zones/changes with form=history. A step is a change of a
// zone's serial. The newest step comes first.
type History interface {
	ReadZone(ctx context.Context, zone *v1alpha1.Zone, ask HistoryQuery) (*HistoryPage, error)
	// ReadRemoved returns the steps of the Zone object that was last deleted under a name. The returned zone has only
	// the names, UID, FQDN, view and serial. Without such a Zone the error is ErrNotHeld.
	ReadRemoved(ctx context.Context, namespace, name string, ask HistoryQuery) (answer *HistoryPage, zone *v1alpha1.Zone, err error)
	// ReadRemovedFQDN is ReadRemoved by DNS name, such as example.org., in a namespace, or with "" in all namespaces.
	ReadRemovedFQDN(ctx context.Context, namespace string, fqdn name.Name, ask HistoryQuery) (*HistoryPage, *v1alpha1.Zone, error)
	// ReadRecords returns the steps made by a namespace's Records, in all zones.
	ReadRecords(ctx context.Context, of RecordFilter, ask HistoryQuery) (*HistoryPage, error)
}

// RecordFilter selects steps (changes of serial) made by Records of a namespace.
type RecordFilter struct {
	Namespace string
	// Record is the name of a Record object, "" for any.
	Record string
	// FQDN selects steps that changed a value or TTL at the name. Enclosing selects steps of zones at or above a name.
	// A zero name selects all.
	FQDN, Enclosing name.Name
}

// HistoryQuery limits the steps of an answer.
type HistoryQuery struct {
	Limit    int
	Continue string
	// Since reports whether a step is recent enough. If not, the search ends.
	Since func(step *content.Step) bool
}

// HistoryPage has the newest steps first.
type HistoryPage struct {
	Items []HistoryItem
	// CompleteSince is the time since when no step is missing or condensed.
	CompleteSince time.Time
	// OwnCompleteSince is the same for steps of the Zone's own namespace. It is not set for Records.
	OwnCompleteSince time.Time
	Continue         string
}

// HistoryItem is a step, a change of a zone's serial, with the Records as they were before.
type HistoryItem struct {
	// FQDN and View name the zone. Namespace, Name and UID identify the Zone object.
	FQDN, View, Namespace, Name string
	Step                        content.Step
	// StatesBefore has the changed Records' former states by UID, as JSON of v1alpha1.HistoryState.
	StatesBefore map[string]json.RawMessage
	// Condensed is true if values and former states were dropped to save space.
	Condensed bool
	// Removed is true if the step removed the zone. Then Zone is the state of the deleted object, or nil if the object
	// still exists.
	Removed bool
	UID     string
	Zone    json.RawMessage
	// Delegations were deleted with the zone. LeftOut is true if some are missing.
	Delegations []HistoryDelegation
	LeftOut     bool
}

// HistoryDelegation is a Delegation of a deleted zone: JSON of v1alpha1.HistoryState.
type HistoryDelegation struct {
	Name  string
	State json.RawMessage
}

var ErrContinue = errors.New("it is not the token of an answer")

// askHistory returns the query for the ledger, or 400. since and sinceTime end the search at the first older step. The
// zero since has no limit.
func (s *streams) askHistory(limit int64, token, sinceTime string, since serial.Serial) (HistoryQuery, error) {
	ask := HistoryQuery{Limit: int(cmp.Or(limit, v1alpha1.DefaultHistoryLimit)), Continue: token}
	if limit < 0 || limit > v1alpha1.MaxHistoryLimit {
		return ask, apierrors.NewBadRequest(fmt.Sprintf("query parameter limit: %d is not from 1 to %d", limit,
			v1alpha1.MaxHistoryLimit))
	}
	oldest := int64(0)
	if sinceTime != "" {
		at, err := time.Parse(time.RFC3339, sinceTime)
		if err != nil {
			return ask, apierrors.NewBadRequest(fmt.Sprintf("query parameter sinceTime: %q is no time such as 2006-01-02T15:04:05Z",
				sinceTime))
		}
		oldest = at.Unix()
	}
	ask.Since = func(step *content.Step) bool {
		return step.Time >= oldest && (since == 0 || step.Serial.Ahead(since))
	}
	return ask, nil
}

func historyError(err error) error {
	if errors.Is(err, ErrContinue) {
		return apierrors.NewBadRequest("query parameter continue: " + err.Error() + "; begin again without it")
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return apierrors.NewTimeoutError(fmt.Sprintf("the history was not read within %v: ask for fewer steps, by the query parameters "+
			"limit or sinceTime", historyTimeout), 1)
	}
	return err
}

const historyTimeout = 30 * time.Second

// prepareHistory checks a request for form=history, and reads the whole answer into memory, since reading etcd must not
// wait for a slow client.
func (s *streams) prepareHistory(ctx context.Context, id string, query *v1alpha1.ZoneChangesOptions, accept string) (
	func(http.ResponseWriter) error, error) {
	// 1. Check the query.
	if query.Watch {
		return nil, apierrors.NewBadRequest("query parameter watch: form=history has no watch; watch in the form entries")
	}
	if _, err := negotiateFormat(query.Format, accept, v1alpha1.FormatJSON); err != nil {
		return nil, err
	}
	if query.Sources {
		if err := s.mayReadSources(ctx); err != nil {
			return nil, err
		}
	}
	since, until, err := serialsOf(query)
	if err != nil {
		return nil, err
	}
	ask, err := s.askHistory(query.Limit, query.Continue, query.SinceTime, since)
	if err != nil {
		return nil, err
	}
	// 2. Read the steps, the newest first, also those of a deleted Zone.
	ctx, cancel := context.WithTimeout(ctx, historyTimeout)
	defer cancel()
	answer, zone, err := s.findHistory(ctx, id, query, ask)
	if err != nil {
		return nil, historyError(err)
	}
	// The search begins at the newest step, so later steps than until are dropped afterwards. A page may then be empty.
	answer.Items = slices.DeleteFunc(answer.Items, func(x HistoryItem) bool { return until != 0 && x.Step.Serial.Ahead(until) })
	// 3. Show the steps to this reader, without users and Records of other namespaces unless sources=true.
	object := v1alpha1.ZoneChanges{
		TypeMeta: metav1.TypeMeta{Kind: "ZoneChanges", APIVersion: v1alpha1.SchemeGroupVersion.String()},
		FQDN:     zone.Status.FQDN, View: zone.Status.View, Since: query.Since, Until: cmp.Or(query.Until, zone.Status.Serial),
		WholeSince: wholeSince(answer.CompleteSince), OwnWholeSince: wholeSince(answer.OwnCompleteSince),
	}
	meta := metaOf(zone)
	meta.Continue = answer.Continue
	return func(w http.ResponseWriter) error {
		return writeHistory(w, object, meta, answer.Items, viewer{zone.Namespace, query.Sources})
	}, nil
}

// findHistory returns the steps of a Zone, present or deleted, by its object's name, or with the name - by its DNS
// name. The returned zone may have only the fields that ReadRemoved names.
func (s *streams) findHistory(ctx context.Context, id string, query *v1alpha1.ZoneChangesOptions, ask HistoryQuery) (answer *HistoryPage,
	zone *v1alpha1.Zone, err error) {
	namespace := genericapirequest.NamespaceValue(ctx)
	// By DNS name: in this namespace first. The former owner may have deleted example.org. and forgotten the object's
	// name.
	if id == v1alpha1.AnyZone {
		fqdn, err := parseFQDN("fqdn", query.FQDN)
		if err != nil || fqdn.IsZero() {
			return nil, nil, cmp.Or(err, error(apierrors.NewBadRequest("query parameter fqdn: write the DNS name of a deleted Zone")))
		}
		if answer, zone, err = s.History.ReadRemovedFQDN(ctx, namespace, fqdn, ask); !errors.Is(err, ErrNotHeld) {
			return answer, zone, err
		}
		// Without the right to read all zones' changes, a user must not find Zones of other namespaces.
		all, err := isAllowed(ctx, s.Authorizer, "get", "zones", "changes", "", "")
		if err == nil && all {
			answer, zone, err = s.History.ReadRemovedFQDN(ctx, "", fqdn, ask)
		}
		if err == nil && !all || errors.Is(err, ErrNotHeld) {
			err = apierrors.NewNotFound(v1alpha1.Resource("zones"), query.FQDN)
		}
		return answer, zone, err
	}
	if query.FQDN != "" {
		return nil, nil, apierrors.NewBadRequest("query parameter fqdn: write the name - for the Zone, as zones/-/changes")
	}
	// By object name: the present Zone, or the Zone deleted last.
	if zone, err = s.getZone(ctx, id); err == nil {
		answer, err = s.History.ReadZone(ctx, zone, ask)
	} else if apierrors.IsNotFound(err) {
		// The 404 of a present Zone is the better answer for a mistyped name.
		absent := err
		if answer, zone, err = s.History.ReadRemoved(ctx, namespace, id, ask); errors.Is(err, ErrNotHeld) {
			err = absent
		}
	}
	return answer, zone, err
}

func parseFQDN(parameter, text string) (fqdn name.Name, err error) {
	if text == "" {
		return fqdn, nil
	}
	if fqdn, err = name.Parse(strings.TrimSuffix(text, ".") + "."); err != nil {
		return fqdn, apierrors.NewBadRequest(fmt.Sprintf("query parameter %s: %q: %v", parameter, text, err))
	}
	return fqdn, nil
}

// prepareRecordChanges checks a request for records/changes, and reads the steps made by Records of the request's
// namespace, in all zones.
func (s *streams) prepareRecordChanges(ctx context.Context, id string, query *v1alpha1.RecordChangesOptions, accept string) (
	func(http.ResponseWriter) error, error) {
	if _, err := negotiateFormat("", accept, v1alpha1.FormatJSON); err != nil {
		return nil, err
	}
	ask, err := s.askHistory(query.Limit, query.Continue, query.SinceTime, 0)
	if err != nil {
		return nil, err
	}
	namespace := genericapirequest.NamespaceValue(ctx)
	filter := RecordFilter{Namespace: namespace, Record: id}
	// No Record has the name "-", so it means all of them.
	if id == v1alpha1.AllRecords {
		filter.Record = ""
	}
	// fqdn=www.example.org. selects changes at the name, enclosing= changes of its zones.
	for _, field := range []struct {
		parameter, text string
		into            *name.Name
	}{{"fqdn", query.FQDN, &filter.FQDN}, {"enclosing", query.Enclosing, &filter.Enclosing}} {
		if *field.into, err = parseFQDN(field.parameter, field.text); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, historyTimeout)
	defer cancel()
	answer, err := s.History.ReadRecords(ctx, filter, ask)
	if err != nil {
		return nil, historyError(err)
	}
	object := v1alpha1.RecordChanges{
		TypeMeta:   metav1.TypeMeta{Kind: "RecordChanges", APIVersion: v1alpha1.SchemeGroupVersion.String()},
		WholeSince: wholeSince(answer.CompleteSince),
	}
	return func(w http.ResponseWriter) error {
		return writeHistory(w, object, v1alpha1.ZoneViewMeta{Namespace: namespace, Name: id, Continue: answer.Continue}, answer.Items,
			viewer{namespace, false}) // false: no other namespaces, whatever the right
	}, nil
}

func wholeSince(at time.Time) *metav1.Time {
	if at.Unix() <= 0 {
		return nil
	}
	return &metav1.Time{Time: at.UTC()}
}

func writeHistory(w http.ResponseWriter, object any, meta v1alpha1.ZoneViewMeta, items []HistoryItem, by viewer) error {
	list := beginList(w, object, "history")
	for i := range items {
		if !list.writeItem(by.showItem(&items[i])) {
			break
		}
	}
	return list.finishList(meta)
}

// viewer is the reader of a history. A viewer sees users and Records of a single namespace, or of all.
type viewer struct {
	namespace string
	all       bool
}

func (by viewer) maySee(namespace string) bool { return by.all || namespace == by.namespace }

// ShowStepTo returns a step without users and Records of other namespaces.
func ShowStepTo(x *HistoryItem, namespace string) v1alpha1.HistoryStep {
	return viewer{namespace: namespace}.showItem(x)
}

// showItem returns a step for the viewer. Of an author in another namespace, the step shows no user, only
// AnotherNamespace and the values.
func (by viewer) showItem(x *HistoryItem) v1alpha1.HistoryStep {
	step := &x.Step
	out := v1alpha1.HistoryStep{FQDN: x.FQDN, View: x.View, From: int64(step.From), Serial: int64(step.Serial),
		ContentGeneration: int64(step.N), Time: apiTime(step.Time), Way: wayOf(step), Condensed: x.Condensed,
		Removed: apiRows(step.Removed), Added: apiRows(step.Added)}
	// 1. Author: the namespace whose change led to a cascade, else that of the Record, else that of the Zone.
	author := x.Namespace
	if step.Record != nil {
		author = step.Record.Namespace
	}
	if author = cmp.Or(step.CausedBy, author); by.maySee(author) {
		out.By, out.FieldManager, out.AuditID, out.Cause = step.By, step.Manager, step.Audit, step.Cause
	} else {
		out.AnotherNamespace, out.Cause = true, withoutObject(step.Cause)
	}
	// 2. Records. A step of a change set or a cascade has several.
	if step.Record != nil {
		for _, ref := range append([]content.RecordRef{*step.Record}, step.Others...) {
			if by.maySee(ref.Namespace) {
				out.Records = append(out.Records, showRecord(&ref, x.StatesBefore[ref.UID]))
			} else {
				out.AnotherNamespace = true
			}
		}
	}
	// 3. Header, TTLs, and the deleted Zone.
	if step.HeaderBefore != nil {
		out.HeaderBefore = apiHeader(*step.HeaderBefore)
	}
	if step.HeaderAfter != nil {
		out.HeaderAfter = apiHeader(*step.HeaderAfter)
	}
	for _, change := range step.TTLs {
		out.TTLs = append(out.TTLs, v1alpha1.TTLChange{Owner: change.Owner.String(), Type: change.Type.String(),
			Before: apiTTL(change.Before), After: apiTTL(change.After)})
	}
	if x.Removed && by.maySee(x.Namespace) {
		out.Zone = showZone(x)
	}
	return out
}

func withoutObject(cause string) string {
	if rest, ok := strings.CutPrefix(cause, "Delegation "); ok {
		_, rest, _ = strings.Cut(rest, " ")
		return "a Delegation " + rest
	}
	return cause
}

// showRecord returns a Record's part in a step. state is its JSON before the step, nil if not kept.
func showRecord(ref *content.RecordRef, state json.RawMessage) v1alpha1.HistoryRecord {
	out := v1alpha1.HistoryRecord{Namespace: ref.Namespace, Name: ref.Name, UID: ref.UID, Effect: v1alpha1.EffectAdded,
		Owner: ref.Owner.String()}
	switch {
	case ref.Left:
		out.Effect = v1alpha1.EffectRemoved
	case ref.Was:
		out.Effect = v1alpha1.EffectChanged
	}
	out.Before = showState(state)
	return out
}

func showZone(x *HistoryItem) *v1alpha1.HistoryZone {
	out := &v1alpha1.HistoryZone{Namespace: x.Namespace, Name: x.Name, UID: x.UID, Before: showState(x.Zone), DelegationsLeftOut: x.LeftOut}
	for _, d := range x.Delegations {
		if before := showState(d.State); before != nil {
			out.Delegations = append(out.Delegations, v1alpha1.HistoryDelegation{Name: d.Name, Before: *before})
		}
	}
	return out
}

func showState(text json.RawMessage) *v1alpha1.HistoryState {
	if len(text) == 0 {
		return nil
	}
	out := &v1alpha1.HistoryState{}
	if json.Unmarshal(text, out) != nil {
		return nil
	}
	return out
}

// wayOf returns the way of a change, by its cause, user and field manager. WayRequest means all other clients, for
// example kubectl.
func wayOf(step *content.Step) v1alpha1.Way {
	switch {
	case step.Cause != "":
		return v1alpha1.WayCascade
	case strings.HasPrefix(step.By, v1alpha1.UpdateKeyUserPrefix):
		return v1alpha1.WayUpdateKey
	case strings.HasPrefix(step.By, v1alpha1.ChallengeUserPrefix):
		return v1alpha1.WayChallenge
	case step.By == v1alpha1.RestoreUser:
		return v1alpha1.WayRestore
	case step.Manager == v1alpha1.ExternalDNSFieldManager:
		return v1alpha1.WayExternalDNS
	}
	return v1alpha1.WayRequest
}
