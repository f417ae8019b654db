// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	client "kubi.zone/kubizone/api/client/clientset/versioned/typed/kubizone/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/acme"
	"kubi.zone/kubizone/pkg/cmd/cluster"
	"kubi.zone/kubizone/pkg/history"
	"kubi.zone/kubizone/pkg/load"
)

// Reader reads the objects of an Overview from the API, with the rights of the user.
type Reader struct {
	api        client.KubizoneV1alpha1Interface
	core       cluster.Interface
	namespaces []string // metav1.NamespaceAll alone: all
	// fallback is the namespace to read if the user may not list the zones of all namespaces; "" for none.
	fallback string
	// MaxObjects is the number of objects read of each list except the zones; 0 means all.
	MaxObjects int64
}

// OpenRecords selects Records that are not Ready, from a server's index.
var OpenRecords = []fields.Selector{
	fields.OneTermEqualSelector(v1alpha1.FieldRecordReady, string(metav1.ConditionFalse)),
	fields.OneTermEqualSelector(v1alpha1.FieldRecordReady, string(metav1.ConditionUnknown)),
}

type reading struct {
	*Reader
	*Overview
	namespaces []string
	eachZone   func(*v1alpha1.Zone)
	mu         sync.Mutex
}

// ReadAll returns the state of all namespaces, or the part received when ctx ended.
func ReadAll(ctx context.Context, objects versioned.Interface, core cluster.Interface) *Overview {
	return (&Reader{api: objects.KubizoneV1alpha1(), core: core, namespaces: []string{metav1.NamespaceAll}}).Read(ctx, nil)
}

// NewReader returns a Reader of the state of zones in the namespaces, at least one. For all namespaces, the list is
// NamespaceAll alone; if the user may not list zones there, the Reader reads only the namespace fallback, unless
// fallback is "".
func NewReader(config *rest.Config, namespaces []string, fallback string) (*Reader, error) {
	objects, err := versioned.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	core, err := cluster.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	if namespaces[0] != metav1.NamespaceAll {
		fallback = ""
	}
	return &Reader{api: objects.KubizoneV1alpha1(), core: core, namespaces: namespaces, fallback: fallback}, nil
}

// Read returns the present state of zones, Records and classes, and calls each for every zone unless each is nil. The
// Overview lists failed reads.
func (r *Reader) Read(ctx context.Context, each func(*v1alpha1.Zone)) *Overview {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	f := &reading{Reader: r, Overview: &Overview{Time: metav1.Now(), NotCurrent: []Item{}}, namespaces: r.namespaces, eachZone: each}
	var all sync.WaitGroup
	all.Go(func() { f.readInstallation(ctx) })
	all.Go(func() { f.readClasses(ctx) })
	f.readZones(ctx) // decides the namespaces
	all.Go(func() { f.readRecords(ctx) })
	all.Go(func() { f.readUpdateKeys(ctx) })
	all.Go(func() { f.readEvents(ctx) })
	all.Go(func() { f.readChallenges(ctx) })
	all.Wait()
	f.explainUnavailable(ctx)
	f.sortItems()
	f.readLastChanges(ctx, f.NotCurrent)
	return f.Overview
}

const maxLastChanges = 5

func (f *reading) readLastChanges(ctx context.Context, zones []Item) {
	past := history.Reader{Client: f.api}
	for i := range zones[:min(len(zones), maxLastChanges)] {
		if step, _ := past.LastOfZone(ctx, zones[i].Namespace, zones[i].Name); step != nil {
			by := history.AuthorOf(step)
			zones[i].LastChange = by.String()
		}
	}
}

const apiService = "/apis/apiregistration.k8s.io/v1/apiservices/v1alpha1.kubi.zone"

func (f *reading) explainUnavailable(ctx context.Context) {
	away := func(one *Unread) bool {
		return apierrors.IsServiceUnavailable(one.Err) && strings.HasSuffix(one.Resource, ".kubi.zone")
	}
	if !slices.ContainsFunc(f.Unread, func(one Unread) bool { return away(&one) }) {
		return
	}
	var of struct {
		Status struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	data, err := f.core.Discovery().RESTClient().Get().AbsPath(apiService).DoRaw(ctx)
	if err != nil || json.Unmarshal(data, &of) != nil {
		return
	}
	available := meta.FindStatusCondition(of.Status.Conditions, "Available")
	if available == nil || available.Status == metav1.ConditionTrue {
		return
	}
	for i := range f.Unread {
		if one := &f.Unread[i]; away(one) {
			one.Reason += ": " + available.Message
		}
	}
}

func (f *reading) addUnread(verb, resource, namespace string, err error) {
	u := Unread{Verb: verb, Resource: resource, Namespace: namespace, Reason: err.Error(), Forbidden: apierrors.IsForbidden(err), Err: err}
	if u.Forbidden {
		u.Reason = "you lack the right to " + verb + " " + resource
		if namespace != "" {
			u.Reason += " in namespace " + namespace
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.ContainsFunc(f.Unread, func(x Unread) bool { return x.Resource == resource && x.Namespace == namespace && x.Verb == verb }) {
		f.Unread = append(f.Unread, u)
	}
}

func eachObject[L, T runtime.Object](ctx context.Context, f *reading, namespaces []string, resource string, selector fields.Selector,
	most int64, list func(namespace string) func(context.Context, metav1.ListOptions) (L, error), do func(T)) (err error) {
	options, read := metav1.ListOptions{FieldSelector: selector.String(), Limit: most}, false
	each := func(o T) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		do(o)
		return nil
	}
	for _, namespace := range namespaces {
		var failed error
		if most > 0 {
			failed = f.readFirst(resource, func() (runtime.Object, error) { return list(namespace)(ctx, options) },
				func(o runtime.Object) error { return each(o.(T)) })
		} else {
			failed = load.EachItem(ctx, list(namespace), options, each)
		}
		switch {
		case failed == nil:
			read = true
		case !apierrors.IsNotFound(failed):
			f.addUnread("list", resource, namespace, failed)
			err = failed
		}
	}
	if read {
		return nil
	}
	return err
}

func (f *reading) readFirst(resource string, read func() (runtime.Object, error), do func(runtime.Object) error) error {
	page, err := read()
	if err != nil {
		return err
	}
	list, err := meta.ListAccessor(page)
	if err != nil {
		return err
	}
	f.notePartial(resource, list.GetContinue())
	return meta.EachListItem(page, do)
}

func (f *reading) notePartial(resource, next string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if next != "" && !slices.Contains(f.Partial, resource) {
		f.Partial = append(f.Partial, resource)
	}
}

func (f *reading) readZones(ctx context.Context) {
	read := func() error {
		return eachObject(ctx, f, f.namespaces, "zones.kubi.zone", fields.Everything(), 0,
			func(namespace string) func(context.Context, metav1.ListOptions) (*v1alpha1.ZoneList, error) {
				return f.api.Zones(namespace).List
			}, func(zone *v1alpha1.Zone) {
				f.addZone(zone)
				if f.eachZone != nil {
					f.eachZone(zone)
				}
			})
	}
	err := read()
	if f.fallback != "" && apierrors.IsForbidden(err) {
		f.namespaces = []string{f.fallback}
		err = read()
	}
	f.ZonesRead = err == nil
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
	_ = eachObject(ctx, f, []string{metav1.NamespaceAll}, "dnsclasses.kubi.zone", fields.Everything(), f.MaxObjects,
		func(string) func(context.Context, metav1.ListOptions) (*v1alpha1.DNSClassList, error) {
			return f.api.DNSClasses().List
		},
		func(class *v1alpha1.DNSClass) {
			if class.Spec.Paused {
				f.Paused = append(f.Paused, Item{Kind: "DNSClass", Name: class.Name, Message: "spec.paused of the class is true"})
			}
			if ready := meta.FindStatusCondition(class.Status.Conditions, v1alpha1.ConditionReady); ready != nil &&
				ready.Status == metav1.ConditionFalse {
				f.ClassFaults = append(f.ClassFaults, Item{Kind: "DNSClass", Name: class.Name, Reason: ready.Reason,
					Message: ready.Message})
			}
		})
}

func (f *reading) readRecords(ctx context.Context) {
	list := func(namespace string) func(context.Context, metav1.ListOptions) (*v1alpha1.RecordList, error) {
		return f.api.Records(namespace).List
	}
	byReason := map[string]*RecordCount{}
	var all sync.WaitGroup
	for _, open := range OpenRecords {
		all.Go(func() {
			_ = eachObject(ctx, f, f.namespaces, "records.kubi.zone", open, f.MaxObjects, list,
				func(record *v1alpha1.Record) { f.addOpenRecord(record, byReason) })
		})
	}
	withdrawn := fields.OneTermEqualSelector(v1alpha1.FieldRecordWithdrawn, string(metav1.ConditionTrue))
	all.Go(func() {
		_ = eachObject(ctx, f, f.namespaces, "records.kubi.zone", withdrawn,
			f.MaxObjects, list, func(record *v1alpha1.Record) {
				if ends := record.Status.EndsAt; ends != nil {
					f.Withdrawn = append(f.Withdrawn, Item{Kind: "Record", Namespace: record.Namespace, Name: record.Name,
						FQDN: record.Status.FQDN, Until: ends})
				}
			})
	})
	all.Wait()
	for _, count := range byReason {
		f.Records = append(f.Records, *count)
	}
}

func (f *reading) readUpdateKeys(ctx context.Context) {
	_ = eachObject(ctx, f, f.namespaces, "updatekeys.kubi.zone", fields.Everything(), f.MaxObjects,
		func(namespace string) func(context.Context, metav1.ListOptions) (*v1alpha1.UpdateKeyList, error) {
			return f.api.UpdateKeys(namespace).List
		}, f.addUpdateKey)
}

func (f *reading) readEvents(ctx context.Context) {
	_ = eachObject(ctx, f, f.namespaces, "events.events.k8s.io", fields.OneTermEqualSelector("reason", "NameRefused"), f.MaxObjects,
		func(namespace string) func(context.Context, metav1.ListOptions) (*eventsv1.EventList, error) {
			return f.core.EventsV1().Events(namespace).List
		}, f.addEvent)
}

// The client lacks cert-manager's kinds.
func (f *reading) readChallenges(ctx context.Context) {
	for _, namespace := range f.namespaces {
		if err := f.readChallengesIn(ctx, namespace); err != nil && !apierrors.IsNotFound(err) { // no cert-manager
			f.addUnread("list", "challenges.acme.cert-manager.io", namespace, err)
		}
	}
}

func (f *reading) readChallengesIn(ctx context.Context, namespace string) error {
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
				f.mu.Lock()
				f.addChallenge(one)
				f.mu.Unlock()
			}
		}
		if next = page.Continue; next == "" {
			return nil
		}
		if f.MaxObjects > 0 {
			f.notePartial("challenges.acme.cert-manager.io", next)
			return nil
		}
	}
}
