// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	client "kubi.zone/kubizone/api/client/clientset/versioned/typed/kubizone/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/client/cluster"
	"kubi.zone/kubizone/pkg/client/find"
	"kubi.zone/kubizone/pkg/client/history"
	"kubi.zone/kubizone/pkg/client/load"
)

// Reader reads Overviews from the API, with the rights of the user.
type Reader struct {
	api        client.KubizoneV1alpha1Interface
	core       cluster.Interface
	namespaces []string // metav1.NamespaceAll alone: all
	// fallback is read if the user may not list the zones of all namespaces; "" for none.
	fallback string
	// MaxObjects is the number of objects read of each list except the zones; 0 means all.
	MaxObjects int64
}

// OpenRecords selects Records without Ready=True. The server has an index for each selector.
var OpenRecords = []fields.Selector{
	fields.OneTermEqualSelector(v1alpha1.FieldRecordReady, string(metav1.ConditionFalse)),
	fields.OneTermEqualSelector(v1alpha1.FieldRecordReady, string(metav1.ConditionUnknown)),
}

// readTime bounds all requests of a Read together.
const readTime = 30 * time.Second

type reading struct {
	*Reader
	*Overview
	namespaces []string
	eachZone   func(*v1alpha1.Zone)
	// kept has a Zone not under deletion, by namespace.
	kept map[string]*v1alpha1.Zone
	mu   sync.Mutex
}

func ReadAll(ctx context.Context, objects versioned.Interface, core cluster.Interface) *Overview {
	return (&Reader{api: objects.KubizoneV1alpha1(), core: core, namespaces: []string{metav1.NamespaceAll}}).Read(ctx, nil)
}

// NewReader returns a Reader of some namespaces, or of all for NamespaceAll alone. If the user may not list the zones
// of all namespaces, the Reader reads only fallbackNamespace, unless "".
func NewReader(config *rest.Config, namespaces []string, fallbackNamespace string) (*Reader, error) {
	objects, err := versioned.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	core, err := cluster.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	// Namespaces named by the user are not replaced by another.
	if namespaces[0] != metav1.NamespaceAll {
		fallbackNamespace = ""
	}
	return &Reader{api: objects.KubizoneV1alpha1(), core: core, namespaces: namespaces, fallback: fallbackNamespace}, nil
}

// Read returns the present state, and lists failed reads in Unread. It calls visitZone, unless nil, for every zone.
func (r *Reader) Read(ctx context.Context, visitZone func(*v1alpha1.Zone)) *Overview {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	state := &reading{Reader: r, Overview: &Overview{Time: metav1.Now(), NotCurrent: []Item{}}, namespaces: r.namespaces,
		eachZone: visitZone, kept: map[string]*v1alpha1.Zone{}}
	var reads sync.WaitGroup
	reads.Go(func() { state.readInstallation(ctx) })
	reads.Go(func() { state.readClasses(ctx) })
	state.readZones(ctx) // chooses the namespaces of the reads below
	reads.Go(func() { state.readRecords(ctx) })
	reads.Go(func() { state.readUpdateKeys(ctx) })
	reads.Go(func() { state.readEvents(ctx) })
	reads.Go(func() { state.readChallenges(ctx) })
	reads.Wait()
	state.addTerminating(state.kept)
	// The requests below are for the first of the list, so sort before.
	state.sortItems()
	state.readLastChanges(ctx, state.NotCurrent)
	state.readServers(ctx)
	return state.Overview
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

// maxNamed bounds the zones whose servers are named.
const maxNamed = 10

// readServers reads the servers that delay zones from Deliveries: of the oldest zone of each reason, then of others.
func (f *reading) readServers(ctx context.Context) {
	first, others, seen := []*Item{}, []*Item{}, map[string]bool{}
	for i := range f.NotCurrent {
		one := &f.NotCurrent[i]
		if seen[one.Reason] {
			others = append(others, one)
		} else {
			first = append(first, one)
		}
		seen[one.Reason] = true
	}
	first = append(first, others...)
	var reads sync.WaitGroup
	// Each goroutine writes its own Item.
	for _, one := range first[:min(len(first), maxNamed)] {
		reads.Go(func() {
			list, err := f.api.Deliveries(one.Namespace).List(ctx, metav1.ListOptions{
				FieldSelector: fields.OneTermEqualSelector(v1alpha1.FieldDeliveryZoneName, one.Name).String()})
			if err != nil {
				f.addUnread("list", "deliveries.kubi.zone", one.Namespace, err)
				return
			}
			for n := range list.Items {
				one.Servers = append(one.Servers, class.ListServerFaults(&list.Items[n])...)
			}
		})
	}
	reads.Wait()
}

// addUnread notes a failed read once for each verb, resource and namespace. It takes mu, because reads run side by
// side.
func (f *reading) addUnread(verb, resource, namespace string, err error) {
	u := Unread{Verb: verb, Resource: resource, Namespace: namespace, Reason: err.Error(), Forbidden: apierrors.IsForbidden(err), Err: err}
	if u.Forbidden {
		// The server's message names user and API group, and a reader needs the right.
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

var errEnough = errors.New("enough objects")

// eachObject calls visit for the objects of the namespaces, without concurrent calls. It reads at most maxObjects
// objects of each list; 0 means all. An error means that nothing was read.
func eachObject[L, T runtime.Object](ctx context.Context, f *reading, namespaces []string, resource string, selector fields.Selector,
	maxObjects int64, list func(namespace string) find.Lister[L], visit func(T)) (err error) {
	options := metav1.ListOptions{FieldSelector: selector.String()}
	if maxObjects > 0 {
		// An object more than needed shows whether the list goes on.
		options.Limit = maxObjects + 1
	}
	isRead := false
	for _, namespace := range namespaces {
		count := int64(0)
		failed := load.EachItem(ctx, list(namespace), options, func(o T) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			count++
			if maxObjects == 0 || count <= maxObjects {
				visit(o)
				return nil
			}
			if !slices.Contains(f.Partial, resource) {
				f.Partial = append(f.Partial, resource)
			}
			return errEnough
		})
		switch {
		case failed == nil, errors.Is(failed, errEnough):
			isRead = true
		// Another API is not installed, for example cert-manager's.
		case apierrors.IsNotFound(failed) && !strings.HasSuffix(resource, ".kubi.zone"):
		default:
			f.addUnread("list", resource, namespace, failed)
			err = failed
		}
	}
	if isRead {
		return nil
	}
	return err
}

// ReadZones calls visit for every zone, without concurrent calls. It returns the failed reads, and false if no
// namespace could be read.
func (r *Reader) ReadZones(ctx context.Context, visit func(*v1alpha1.Zone)) ([]Unread, bool) {
	state := &reading{Reader: r, Overview: &Overview{}, namespaces: r.namespaces, eachZone: visit, kept: map[string]*v1alpha1.Zone{}}
	state.readZones(ctx)
	return state.Unread, state.ZonesRead
}

// readZones reads all zones. If the user may not list all namespaces, the fallback takes their place for this and all
// later reads.
func (f *reading) readZones(ctx context.Context) {
	read := func() error {
		return eachObject(ctx, f, f.namespaces, "zones.kubi.zone", fields.Everything(), 0,
			func(namespace string) find.Lister[*v1alpha1.ZoneList] { return f.api.Zones(namespace).List }, func(zone *v1alpha1.Zone) {
				f.addZone(zone)
				if zone.DeletionTimestamp == nil {
					f.kept[zone.Namespace] = zone
				}
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
		func(string) find.Lister[*v1alpha1.DNSClassList] { return f.api.DNSClasses().List }, func(of *v1alpha1.DNSClass) {
			if of.Spec.Paused {
				f.Paused = append(f.Paused, Item{Kind: "DNSClass", Name: of.Name, Message: "spec.paused of the class is true"})
			}
		})
}

// readRecords reads withdrawn Records, and Records without Ready=True, by the server's indexes. A million Ready Records
// are not read.
func (f *reading) readRecords(ctx context.Context) {
	byReason := map[string]*RecordCount{}
	addOpen := func(record *v1alpha1.Record) { f.addOpenRecord(record, byReason) }
	var all sync.WaitGroup
	read := func(selector fields.Selector, add func(*v1alpha1.Record)) {
		all.Go(func() {
			_ = eachObject(ctx, f, f.namespaces, "records.kubi.zone", selector, f.MaxObjects,
				func(namespace string) find.Lister[*v1alpha1.RecordList] { return f.api.Records(namespace).List }, add)
		})
	}
	for _, open := range OpenRecords {
		read(open, addOpen)
	}
	read(fields.OneTermEqualSelector(v1alpha1.FieldRecordWithdrawn, string(metav1.ConditionTrue)), f.addWithdrawn)
	// Visits hold mu, so byReason needs no lock of its own.
	all.Wait()
	for _, count := range byReason {
		f.Records = append(f.Records, *count)
	}
}

func (f *reading) readUpdateKeys(ctx context.Context) {
	_ = eachObject(ctx, f, f.namespaces, "updatekeys.kubi.zone", fields.Everything(), f.MaxObjects,
		func(namespace string) find.Lister[*v1alpha1.UpdateKeyList] { return f.api.UpdateKeys(namespace).List }, f.addUpdateKey)
}

func (f *reading) readEvents(ctx context.Context) {
	_ = eachObject(ctx, f, f.namespaces, "events.events.k8s.io", fields.OneTermEqualSelector("reason", "NameRefused"), f.MaxObjects,
		func(namespace string) find.Lister[*eventsv1.EventList] {
			return f.core.EventsV1().Events(namespace).List
		}, f.addEvent)
}

// readChallenges decodes ACME challenges as unstructured, because the client lacks cert-manager's kinds.
func (f *reading) readChallenges(ctx context.Context) {
	_ = eachObject(ctx, f, f.namespaces, "challenges.acme.cert-manager.io", fields.Everything(), f.MaxObjects,
		func(namespace string) find.Lister[*unstructured.UnstructuredList] {
			return func(ctx context.Context, options metav1.ListOptions) (*unstructured.UnstructuredList, error) {
				list := &unstructured.UnstructuredList{}
				body, err := f.core.Discovery().RESTClient().Get().AbsPath("/apis/acme.cert-manager.io/v1").
					NamespaceIfScoped(namespace, namespace != metav1.NamespaceAll).Resource("challenges").
					Param("limit", strconv.FormatInt(options.Limit, 10)).Param("continue", options.Continue).DoRaw(ctx)
				if err == nil {
					err = list.UnmarshalJSON(body)
				}
				return list, err
			}
		}, f.addChallenge)
}
