// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	client "kubi.zone/kubizone/api/client/clientset/versioned/typed/kubizone/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/acme"
	"kubi.zone/kubizone/pkg/history"
	"kubi.zone/kubizone/pkg/load"
)

// reader reads with the rights of the user.
type reader struct {
	api        client.KubizoneV1alpha1Interface
	core       kubernetes.Interface
	namespaces []string // metav1.NamespaceAll alone: all
	// fallback is read if the user may not list zones in all namespaces; "" for none.
	fallback string
}

// reading is a reader with its result.
type reading struct {
	*reader
	*Overview
	namespaces []string
}

func (r *reader) readAll(ctx context.Context) *Overview {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	f := &reading{r, &Overview{Time: metav1.Now(), NotCurrent: []Item{}}, r.namespaces}
	f.readZones(ctx)
	f.readInstallation(ctx)
	f.readClasses(ctx)
	f.readRecords(ctx)
	f.readRefusals(ctx)
	f.sortItems()
	f.readLastChanges(ctx, f.NotCurrent)
	return f.Overview
}

// maxLastChanges bounds the zones of a list with a last change.
const maxLastChanges = 5

func (f *reading) readLastChanges(ctx context.Context, zones []Item) {
	past := history.Reader{Client: f.api}
	for i := range zones[:min(len(zones), maxLastChanges)] {
		if step := past.LastOfZone(ctx, zones[i].Namespace, zones[i].Name); step != nil {
			by := history.AuthorOf(step)
			zones[i].LastChange = by.String()
		}
	}
}

// addUnread notes a list or an object that could not be read.
func (f *reading) addUnread(verb, resource, namespace string, err error) {
	u := Unread{Verb: verb, Resource: resource, Namespace: namespace, Reason: err.Error(), Forbidden: apierrors.IsForbidden(err)}
	if u.Forbidden {
		u.Reason = "you lack the right to " + verb + " " + resource
		if namespace != "" {
			u.Reason += " in namespace " + namespace
		}
	}
	f.Unread = append(f.Unread, u)
}

// eachObject calls do for the objects of a list in each namespace. ok is true if a namespace was read.
func eachObject[L, T runtime.Object](ctx context.Context, f *reading, resource string, options metav1.ListOptions,
	list func(namespace string) func(context.Context, metav1.ListOptions) (L, error), do func(T)) (ok bool) {
	for _, namespace := range f.namespaces {
		err := load.EachItem(ctx, list(namespace), options, func(o T) error { do(o); return nil })
		if err != nil {
			f.addUnread("list", resource, namespace, err)
		} else {
			ok = true
		}
	}
	return ok
}

func (f *reading) readZones(ctx context.Context) {
	list := func(namespace string) func(context.Context, metav1.ListOptions) (*v1alpha1.ZoneList, error) {
		return f.api.Zones(namespace).List
	}
	f.zonesRead = eachObject(ctx, f, "zones.kubi.zone", metav1.ListOptions{}, list, f.addZone)
	if !f.zonesRead && f.fallback != "" && f.Unread[0].Forbidden {
		f.namespaces = []string{f.fallback}
		f.zonesRead = eachObject(ctx, f, "zones.kubi.zone", metav1.ListOptions{}, list, f.addZone)
	}
	f.Namespaces = slices.DeleteFunc(slices.Clone(f.namespaces), func(name string) bool { return name == metav1.NamespaceAll })
}

func (f *reading) readInstallation(ctx context.Context) {
	of, err := f.api.Installations().Get(ctx, v1alpha1.InstallationName, metav1.GetOptions{})
	if err != nil {
		f.addUnread("get", "installations.kubi.zone", "", err)
		return
	}
	f.Installation = &of.Status
}

func (f *reading) readClasses(ctx context.Context) {
	err := load.EachItem(ctx, f.api.DNSClasses().List, metav1.ListOptions{}, func(class *v1alpha1.DNSClass) error {
		if class.Spec.Paused {
			f.Paused = append(f.Paused, Item{Kind: "DNSClass", Name: class.Name, Message: "spec.paused of the class is true"})
		}
		return nil
	})
	if err != nil {
		f.addUnread("list", "dnsclasses.kubi.zone", "", err)
	}
}

func (f *reading) readRecords(ctx context.Context) {
	list := func(namespace string) func(context.Context, metav1.ListOptions) (*v1alpha1.RecordList, error) {
		return f.api.Records(namespace).List
	}
	byReason := map[string]*RecordCount{}
	open := metav1.ListOptions{FieldSelector: fields.OneTermNotEqualSelector(v1alpha1.FieldRecordReady,
		string(metav1.ConditionTrue)).String()}
	if !eachObject(ctx, f, "records.kubi.zone", open, list, func(record *v1alpha1.Record) { f.addOpenRecord(record, byReason) }) {
		return // the other list would fail, too
	}
	for _, count := range byReason {
		f.Records = append(f.Records, *count)
	}
	eachObject(ctx, f, "records.kubi.zone", metav1.ListOptions{FieldSelector: v1alpha1.FieldRecordWithdrawn + "=true"}, list,
		func(record *v1alpha1.Record) {
			if ends := record.Status.EndsAt; ends != nil {
				f.Withdrawn = append(f.Withdrawn, Item{Kind: "Record", Namespace: record.Namespace, Name: record.Name,
					FQDN: record.Status.FQDN, Until: ends})
			}
		})
}

func (f *reading) readRefusals(ctx context.Context) {
	eachObject(ctx, f, "updatekeys.kubi.zone", metav1.ListOptions{},
		func(namespace string) func(context.Context, metav1.ListOptions) (*v1alpha1.UpdateKeyList, error) {
			return f.api.UpdateKeys(namespace).List
		}, f.addUpdateKey)
	for _, namespace := range f.namespaces {
		err := load.EachItem(ctx, f.core.EventsV1().Events(namespace).List, metav1.ListOptions{FieldSelector: "reason=NameRefused"},
			func(event *eventsv1.Event) error { f.addEvent(event); return nil })
		if err != nil && !apierrors.IsNotFound(err) { // kubizone up has no Events
			f.addUnread("list", "events.events.k8s.io", namespace, err)
		}
		if err := f.readChallenges(ctx, namespace); err != nil && !apierrors.IsNotFound(err) { // no cert-manager
			f.addUnread("list", "challenges.acme.cert-manager.io", namespace, err)
		}
	}
}

func (f *reading) readChallenges(ctx context.Context, namespace string) error {
	path := "/apis/acme.cert-manager.io/v1/challenges"
	if namespace != metav1.NamespaceAll {
		path = strings.Replace(path, "challenges", "namespaces/"+namespace+"/challenges", 1)
	}
	for next := ""; ; {
		body, err := f.core.Discovery().RESTClient().Get().AbsPath(path).Param("limit", "500").Param("continue", next).DoRaw(ctx)
		if err != nil {
			return err
		}
		var page struct {
			metav1.ListMeta `json:"metadata"`

			Items []challenge `json:"items"`
		}
		if err := json.Unmarshal(body, &page); err != nil {
			return err
		}
		for i := range page.Items {
			if one := &page.Items[i]; one.Spec.Solver.DNS01.Webhook.GroupName == acme.GroupName {
				f.addChallenge(one)
			}
		}
		if next = page.Continue; next == "" {
			return nil
		}
	}
}
