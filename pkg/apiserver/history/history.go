// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apiserver/registry/zone"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/ledger"
	stored "kubi.zone/kubizone/pkg/zone/ledger/history"
)

// Reader answers requests for the history of zones and Records from the ledger, the store of changes in etcd.
type Reader struct {
	Ledger  *ledger.Ledger
	Records interface {
		rest.Getter
		rest.Lister
	}
	// Began returns the first Unix second after the creation of a namespace, or an error if unknown. Earlier changes
	// are left out, because a deleted namespace of the same name may have made them. 0 leaves out none.
	Began func(namespace string) (int64, error)
}

var _ zone.History = Reader{}

func (h Reader) askLedger(namespace string, ask zone.HistoryQuery) (stored.Ask, error) {
	began, err := h.Began(namespace)
	return boundLedger(ask, began), err
}

func boundLedger(ask zone.HistoryQuery, notBefore int64) stored.Ask {
	return stored.Ask{From: ask.Continue, Limit: ask.Limit, NotBefore: notBefore,
		Since: func(x *stored.Item) bool { return ask.Since(&x.Step) }}
}

// answerHistory returns the ledger's answer in the types of package zone, or the error, as ErrContinue for a wrong
// token.
func answerHistory(a *stored.Answer, err error) (*zone.HistoryPage, error) {
	if errors.Is(err, stored.ErrPlace) {
		return nil, zone.ErrContinue
	}
	if err != nil {
		return nil, err
	}
	out := &zone.HistoryPage{CompleteSince: time.Unix(a.Whole, 0), OwnCompleteSince: time.Unix(a.Own, 0), Continue: a.Next}
	for i := range a.Items {
		x := &a.Items[i]
		item := zone.HistoryItem{FQDN: x.FQDN, View: x.View, Namespace: x.Namespace, Name: x.Name, UID: x.Header.Zone, Step: x.Step,
			Condensed: x.Bare}
		if x.Removed != nil {
			item.Removed, item.Zone, item.LeftOut = true, x.Removed.State, x.Removed.LeftOut
			for _, d := range x.Removed.Delegations {
				item.Delegations = append(item.Delegations, zone.HistoryDelegation{Name: d.Name, State: d.State})
			}
		}
		if len(x.Was) > 0 {
			item.StatesBefore = map[string]json.RawMessage{}
		}
		for _, w := range x.Was {
			item.StatesBefore[w.UID] = w.State
		}
		out.Items = append(out.Items, item)
	}
	return out, nil
}

// ReadZone needs no bound by the age of the namespace: all steps with the UID of a present Zone are of the present
// namespace, also those of the second in which both were created.
func (h Reader) ReadZone(ctx context.Context, object *v1alpha1.Zone, ask zone.HistoryQuery) (*zone.HistoryPage, error) {
	return answerHistory(h.Ledger.ZoneHistory(ctx, object, boundLedger(ask, 0)))
}

// LastChange describes the zone's newest step to users of its namespace, as the end of a sentence, or returns "".
func (h Reader) LastChange(ctx context.Context, object *v1alpha1.Zone) string {
	answer, err := h.ReadZone(ctx, object, zone.HistoryQuery{Limit: 1, Since: func(*content.Step) bool { return true }})
	if err != nil || len(answer.Items) == 0 {
		return ""
	}
	step := zone.ShowStepTo(&answer.Items[0], object.Namespace)
	at := ""
	if step.Time != nil {
		at = " at " + step.Time.UTC().Format(time.RFC3339)
	}
	return fmt.Sprintf("; last change: by %s%s, serial %d", step.Author(), at, step.Serial)
}

func (h Reader) ReadRemoved(ctx context.Context, namespace, name string, ask zone.HistoryQuery) (*zone.HistoryPage, *v1alpha1.Zone, error) {
	bounded, err := h.askLedger(namespace, ask)
	if err != nil {
		return nil, nil, err
	}
	return answerRemoved(h.Ledger.RemovedHistory(ctx, namespace, name, bounded))
}

// ReadRemovedFQDN includes Zones of deleted namespaces if namespace is "".
func (h Reader) ReadRemovedFQDN(ctx context.Context, namespace string, fqdn name.Name, ask zone.HistoryQuery) (*zone.HistoryPage,
	*v1alpha1.Zone, error) {
	bounded := boundLedger(ask, 0)
	if namespace != "" {
		var err error
		if bounded, err = h.askLedger(namespace, ask); err != nil {
			return nil, nil, err
		}
	}
	return answerRemoved(h.Ledger.RemovedHistoryOf(ctx, namespace, fqdn.String(), bounded))
}

// answerRemoved is answerHistory for a deleted Zone. Without such a Zone the error is ErrNotHeld, and while its
// deletion is under way 504.
func answerRemoved(answer *stored.Answer, header *stored.Header, err error) (*zone.HistoryPage, *v1alpha1.Zone, error) {
	switch {
	case errors.Is(err, ledger.ErrRemoving):
		err = apierrors.NewTimeoutError("the Zone's deletion is still under way, and its history follows: please try again", 1)
	case err == nil && header == nil:
		err = zone.ErrNotHeld
	}
	if header == nil {
		return nil, nil, err
	}
	out, err := answerHistory(answer, err)
	was := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: header.Namespace, Name: header.Name, UID: types.UID(header.Zone)}}
	if was.Status.FQDN, was.Status.View = header.FQDN, header.View; out != nil && len(out.Items) > 0 {
		was.Status.Serial = int64(out.Items[0].Step.Serial)
	}
	return out, was, err
}

// ReadRecords returns the steps made by a namespace's Records. In zones with present Records it also searches the steps
// that are not archived yet.
func (h Reader) ReadRecords(ctx context.Context, of zone.RecordFilter, ask zone.HistoryQuery) (*zone.HistoryPage, error) {
	bounded, err := h.askLedger(of.Namespace, ask)
	if err != nil {
		return nil, err
	}
	zones, err := h.zonesOf(ctx, of.Namespace, of.Record, of.FQDN)
	if err != nil {
		return nil, err
	}
	return answerHistory(h.Ledger.RecordHistory(ctx, stored.StepSelector{Namespace: of.Namespace, Zones: zones,
		SelectsZone: func(x *stored.Header) bool { return encloses(x, of.FQDN) && encloses(x, of.Enclosing) },
		Selects: func(x *stored.Item) bool {
			return madeBy(&x.Step, of.Record) && (of.FQDN.IsZero() || changesName(x, of.FQDN))
		}}, bounded))
}

func encloses(x *stored.Header, at name.Name) bool {
	if at.IsZero() {
		return true
	}
	apex, err := name.Parse(x.FQDN)
	return err == nil && apex.Encloses(at)
}

func madeBy(step *content.Step, record string) bool {
	return step.Record != nil && (record == "" || step.Record.Name == record ||
		slices.ContainsFunc(step.Others, func(r content.RecordRef) bool { return r.Name == record }))
}

// changesName reports whether a step changed a value or TTL at the name.
func changesName(x *stored.Item, fqdn name.Name) bool {
	apex, err := name.Parse(x.FQDN)
	if err != nil {
		return false
	}
	owner, ok := fqdn.Rel(apex)
	if !ok {
		return false
	}
	at := func(r content.Row) bool { return r.Owner == owner }
	return slices.ContainsFunc(x.Step.Removed, at) || slices.ContainsFunc(x.Step.Added, at) ||
		slices.ContainsFunc(x.Step.TTLs, func(r content.TTLChange) bool { return r.Owner == owner })
}

// zonesOf returns the UIDs of zones with present Records of a namespace: with a given object name, at a given FQDN, or
// all. A deleted Record has none.
func (h Reader) zonesOf(ctx context.Context, namespace, record string, fqdn name.Name) (zones []string, err error) {
	ctx = genericapirequest.WithNamespace(ctx, namespace)
	if record != "" {
		got, err := h.Records.Get(ctx, record, &metav1.GetOptions{ResourceVersion: "0"})
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if r, ok := got.(*v1alpha1.Record); ok && r.Status.ZoneRef != nil {
			zones = append(zones, string(r.Status.ZoneRef.UID))
		}
		return zones, nil
	}
	options := &metainternalversion.ListOptions{ResourceVersion: "0"}
	if !fqdn.IsZero() {
		options.FieldSelector = fields.OneTermEqualSelector(v1alpha1.FieldRecordFQDN, fqdn.String())
	}
	got, err := h.Records.List(ctx, options)
	if err != nil {
		return nil, err
	}
	list, ok := got.(*v1alpha1.RecordList)
	if !ok {
		return nil, fmt.Errorf("a list of Records is a %T", got)
	}
	for i := range list.Items {
		if ref := list.Items[i].Status.ZoneRef; ref != nil {
			zones = append(zones, string(ref.UID))
		}
	}
	return zones, nil
}
