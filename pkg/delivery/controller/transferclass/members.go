// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package transferclass

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	apiclass "kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/apis/precedence"
	"kubi.zone/kubizone/pkg/delivery/transfer"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/primary"
)

// Members has the zones of each class whose servers transfer zones. They become the entries of the class's catalog
// zone.
//
// Members applies Deliveries in the order of etcd's revisions. An informer would apply a list object by object, and so
// show states that the store never had.
type Members struct {
	reflector *cache.Reflector
	synced    chan struct{}

	mu      sync.RWMutex
	rows    map[cache.ObjectName]row // by Delivery
	waiting map[cache.ObjectName]waiting
	classes map[string]*members
	// firstRevision is etcd's revision at the first listing, 0 before.
	firstRevision uint64
	onChange      func(class string)
}

type row struct {
	class, uid string
	zone       name.Name
	zoneObject cache.ObjectName
	rank       precedence.Rank
	// confirmed is true if every secondary has confirmed the wanted serial, everConfirmed if any serial.
	confirmed, everConfirmed bool
}

// waiting is a Delivery that some secondary has not confirmed, with its last confirmed serial and its rows of NOTIFY.
type waiting struct {
	row
	serial int64
	notify []v1alpha1.DeliveryNotify
}

type members struct {
	rows map[string]row // by the zone's UID
	// membersRevision is etcd's revision of the last change of members, marksRevision of the last change of
	// everConfirmed.
	membersRevision, marksRevision uint64
}

func NewMembers(client rest.Interface) *Members {
	m := &Members{synced: make(chan struct{}), rows: map[cache.ObjectName]row{}, waiting: map[cache.ObjectName]waiting{},
		classes: map[string]*members{}, onChange: func(string) {}}
	source := cache.NewListWatchFromClient(client, "deliveries", metav1.NamespaceAll, fields.Everything())
	m.reflector = cache.NewReflectorWithOptions(source, &v1alpha1.Delivery{}, store{m},
		cache.ReflectorOptions{Name: "members of transfer classes"})
	return m
}

// SetOnChange sets the function called for a class when members change or a zone is confirmed. Call it before Run;
// onChange must not block.
func (m *Members) SetOnChange(onChange func(class string)) { m.onChange = onChange }

func (m *Members) Run(ctx context.Context) { m.reflector.RunWithContext(ctx) }

func (m *Members) WaitForSync(ctx context.Context) error {
	select {
	case <-m.synced:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Membership returns the zones and the serial of the catalog zone of a class created at createdAt. If hasBIND is true
// (for a class with a block bind9), Unconfirmed has the zones without a serial confirmed by all servers. A change there
// also raises the serial, so that servers fetch the catalog.
func (m *Members) Membership(class string, createdAt time.Time, hasBIND bool) primary.Membership {
	m.mu.RLock()
	defer m.mu.RUnlock()
	known := m.find(class)
	membership := primary.Membership{Serial: serialAt(createdAt, known.membersRevision)}
	for _, member := range slices.SortedFunc(maps.Values(known.rows), row.compare) {
		membership.Members = append(membership.Members, primary.Member{UID: member.uid, Zone: member.zone})
	}
	if !hasBIND {
		return membership
	}
	membership.Serial = serialAt(createdAt, max(known.membersRevision, known.marksRevision))
	membership.Unconfirmed = map[string]bool{}
	for uid, member := range known.rows {
		if !member.everConfirmed {
			membership.Unconfirmed[uid] = true
		}
	}
	return membership
}

// mu is held.
func (m *Members) find(class string) members {
	if known := m.classes[class]; known != nil {
		return *known
	}
	return members{membersRevision: m.firstRevision}
}

func (r row) compare(other row) int { return r.rank.Compare(other.rank) }

// serialAt returns a catalog's serial, the sum of etcd's revision and the class's creation in Unix seconds. So a class
// recreated in a new store is ahead, unless the old averaged more than a write a second. A secondary follows after an
// absence of fewer than 2^31 revisions.
func serialAt(created time.Time, revision uint64) serial.Serial {
	const numbers = 1<<32 - 1 // 0 is none
	return serial.Serial((uint64(created.Unix())+revision)%numbers + 1)
}

func (m *Members) Zones(class string) map[string]cache.ObjectName {
	m.mu.RLock()
	defer m.mu.RUnlock()
	zones := map[string]cache.ObjectName{}
	for uid, one := range m.find(class).rows {
		zones[uid] = one.zoneObject
	}
	return zones
}

// ListUnconfirmed returns the UIDs of zones that a secondary of the class may lack.
func (m *Members) ListUnconfirmed(class string) []string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var uids []string
	for uid, one := range m.find(class).rows {
		if !one.confirmed {
			uids = append(uids, uid)
		}
	}
	return uids
}

// listWaiting returns the Deliveries of the class that a secondary has not confirmed.
func (m *Members) listWaiting(class string) map[cache.ObjectName]waiting {
	m.mu.RLock()
	defer m.mu.RUnlock()
	of := map[cache.ObjectName]waiting{}
	for at, one := range m.waiting {
		if one.class == class {
			of[at] = one
		}
	}
	return of
}

func (m *Members) HasZone(uid string) bool { return len(m.classesOf(uid)) > 0 }

func (m *Members) classesOf(uid string) map[string]bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	of := map[string]bool{}
	for class, known := range m.classes {
		if _, ok := known.rows[uid]; ok {
			of[class] = true
		}
	}
	return of
}

func (m *Members) OfClass(class string) transfer.Members { return ofClass{m, class} }

type ofClass struct {
	*Members
	class string
}

func (c ofClass) Name(uid string) name.Name {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.find(c.class).rows[uid].zone
}

func (c ofClass) Holder(zone name.Name) string { return c.HolderAmong([]string{c.class}, zone) }

// HolderAmong returns the UID of the Zone that servers have under a zone name in the classes, or "". Of several Zones,
// the Zone with the oldest Delivery counts.
func (m *Members) HolderAmong(classes []string, zone name.Name) string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var named []row
	for _, class := range classes {
		for _, member := range m.find(class).rows {
			if member.zone == zone {
				named = append(named, member)
			}
		}
	}
	if len(named) == 0 {
		return ""
	}
	return slices.MinFunc(named, row.compare).uid
}

func (r row) isSameMember(other row) bool {
	return r.class == other.class && r.uid == other.uid && r.zone == other.zone && r.rank.ID == other.rank.ID
}

// rowOf returns the row of a Delivery. ok is false without a zone at the servers: nil, or before the first intent.
func rowOf(one *v1alpha1.Delivery) (row, bool) {
	if one == nil || one.Status.FQDN == "" {
		return row{}, false
	}
	zone, err := name.Parse(one.Status.FQDN)
	if err != nil {
		klog.Background().Error(err, "a Delivery of no zone", "delivery", klog.KObj(one))
		return row{}, false
	}
	return row{
		class: apiclass.NameOf(one.Namespace, one.Spec.ClassRef), uid: string(one.Spec.Zone.UID), zone: zone,
		zoneObject: cache.NewObjectName(one.Namespace, one.Spec.Zone.Name),
		rank:       precedence.Rank{Since: one.CreationTimestamp.Time, ID: string(one.UID)},
		confirmed:  meta.IsStatusConditionTrue(one.Status.Conditions, v1alpha1.ConditionReady), everConfirmed: one.Status.Serial != 0,
	}, true
}

// replaceRow replaces the row of a Delivery, or removes the row if one is nil, at a revision of etcd. The changed
// classes are added to touched. The caller holds mu.
func (m *Members) replaceRow(at cache.ObjectName, one *v1alpha1.Delivery, revision uint64, touched map[string]bool) {
	before, was := m.rows[at]
	after, is := rowOf(one)
	if delete(m.waiting, at); is && !after.confirmed {
		m.waiting[at] = waiting{after, one.Status.Serial, one.Status.Notify}
	}
	if before == after {
		return
	}

	// A confirmation changes no member, so the catalog keeps its serial.
	sameMember := before.isSameMember(after)
	if was {
		had := m.touch(before.class, revision, sameMember, touched)
		delete(had.rows, before.uid)
		delete(m.rows, at)
	}
	if is {
		has := m.touch(after.class, revision, sameMember, touched)
		has.rows[after.uid] = after
		m.rows[at] = after
		if before.everConfirmed != after.everConfirmed {
			has.marksRevision = revision
		}
	}
}

// touch returns the members of a class with a changed row, and adds the class to touched. Unless the members stay the
// same, they get the revision. mu is held.
func (m *Members) touch(class string, revision uint64, sameMember bool, touched map[string]bool) *members {
	touched[class] = true
	of := m.classMembers(class)
	if !sameMember {
		of.membersRevision = revision
	}
	return of
}

// mu is held.
func (m *Members) classMembers(of string) *members {
	if m.classes[of] == nil {
		m.classes[of] = &members{rows: map[string]row{}, membersRevision: m.firstRevision}
	}
	return m.classes[of]
}

type store struct{ *Members }

var _ cache.ReflectorStore = store{}

func (s store) Add(object any) error    { return s.storeDelivery(object, true) }
func (s store) Update(object any) error { return s.storeDelivery(object, true) }
func (s store) Delete(object any) error { return s.storeDelivery(object, false) }
func (s store) Resync() error           { return nil }

// storeDelivery applies one event of the watch. there is false for a deletion.
func (s store) storeDelivery(object any, there bool) error {
	one := object.(*v1alpha1.Delivery)
	revision, err := revisionOf(one.ResourceVersion)
	if err != nil {
		return err
	}
	at, touched := cache.MetaObjectToName(one), map[string]bool{}
	if !there {
		one = nil
	}
	s.mu.Lock()
	s.replaceRow(at, one, revision, touched)
	s.mu.Unlock()
	s.notifyChanged(touched)
	return nil
}

// Replace applies a list at once, so that no state is visible that etcd never had. The first list ends WaitForSync.
func (s store) Replace(list []any, version string) error {
	revision, err := revisionOf(version)
	if err != nil {
		return err
	}
	touched := map[string]bool{}
	s.mu.Lock()
	first := s.firstRevision == 0
	if first {
		s.firstRevision = revision
	}
	there := map[cache.ObjectName]bool{}
	for _, object := range list {
		one := object.(*v1alpha1.Delivery)
		at := cache.MetaObjectToName(one)
		there[at] = true
		s.replaceRow(at, one, revision, touched)
	}
	// Deliveries deleted while the watch was broken.
	for at := range s.rows {
		if !there[at] {
			s.replaceRow(at, nil, revision, touched)
		}
	}
	s.mu.Unlock()

	s.notifyChanged(touched)
	if first {
		close(s.synced)
	}
	return nil
}

func (s store) notifyChanged(classes map[string]bool) {
	for class := range classes {
		s.onChange(class)
	}
}

// versions is the number of resourceVersions in an etcd revision (subrev.Objects).
const versions = 128

// revisionOf returns etcd's revision. It is unique, because no transaction writes two Deliveries.
func revisionOf(version string) (uint64, error) {
	n, err := strconv.ParseUint(version, 10, 64)
	if err != nil || n < versions {
		return 0, fmt.Errorf("resourceVersion %q is of no revision", version)
	}
	return n / versions, nil
}
