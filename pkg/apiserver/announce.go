// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/kit/version"
	"kubi.zone/kubizone/pkg/zone/law"
)

const (
	actionHold, actionDeliver                = "Hold", "Deliver"
	actionWithdraw, actionRestore            = "Withdraw", "Restore"
	reasonRestored, reasonExpiring           = "DelegationRestored", "Expiring"
	actionUpdate, actionServe, reasonRefused = "Update", "Serve", "UpdateRefused"
	refusedInterval                          = 10 * time.Second
	actionHide, actionTake, actionExpire     = "Hide", "Take", "Expire"
	maxNote                                  = 1024
	// maxQueued bounds queued Events, queuedRate their writes a second, because admission uses the same client.
	maxQueued               = 1000
	queuedRate              = 10
	maxRefused, lastTimeout = 1000, 5 * time.Second
)

type announcer struct {
	broadcaster  events.EventBroadcaster // nil if standalone
	recorder     events.EventRecorder
	queue        *eventQueue
	recentEvents *cache.LRUExpireCache
	// members returns the name and UID of a namespace's first Record at an owner name. The zone is a UID.
	members    func(ctx context.Context, zone string, owner name.Rel, namespace string) (object, uid string, err error)
	lastChange func(ctx context.Context, zone *v1alpha1.Zone) string
}

func newAnnouncer(client kubernetes.Interface) announcer {
	b := events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})
	return announcer{broadcaster: b, recorder: b.NewRecorder(scheme.Scheme, version.Component), queue: newEventQueue(),
		recentEvents: cache.NewLRUExpireCache(maxRefused)}
}

type queuedEvent struct {
	about                      *corev1.ObjectReference
	kind, reason, action, note string
	// find, if not nil, looks up the object. Without an object the Event is dropped.
	find func(context.Context) (object, uid string, err error)
	// zone, if not nil, has its last change appended to the note.
	zone *v1alpha1.Zone
}

// eventQueue has the Kubernetes Events to be written. Namespaces alternate, so a namespace with many Events delays no
// other. Beyond maxQueued Events, a new Event replaces the last Event of the namespace with most Events, or is dropped
// if its own namespace has nearly as many.
type eventQueue struct {
	mu sync.Mutex
	// waiting has the Events by namespace, oldest first. A namespace without Events has no key.
	waiting map[string][]queuedEvent
	// next has the namespaces with Events, in the order of writing.
	next  []string
	count int
	// added wakes the writer after the queue was empty.
	added chan struct{}
}

func newEventQueue() *eventQueue {
	return &eventQueue{waiting: map[string][]queuedEvent{}, added: make(chan struct{}, 1)}
}

// addEvent queues an Event, or drops it if the queue is full and its namespace has nearly the most Events. It never
// blocks its callers, such as the ledger.
func (q *eventQueue) addEvent(e queuedEvent) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e.note = cutNote(e.note, maxNote)
	own := e.about.Namespace
	if q.count == maxQueued {
		// Make room at the expense of the namespace with most Events.
		longest := own
		for namespace, events := range q.waiting {
			if len(events) > len(q.waiting[longest]) {
				longest = namespace
			}
		}
		last := len(q.waiting[longest]) - 1
		if last <= len(q.waiting[own]) {
			return
		}
		q.waiting[longest] = q.waiting[longest][:last]
		q.count--
	}
	if len(q.waiting[own]) == 0 {
		q.next = append(q.next, own)
	}
	q.waiting[own] = append(q.waiting[own], e)
	q.count++
	select {
	// The channel holds a single wake-up, which is enough: the writer empties the queue.
	case q.added <- struct{}{}:
	default:
	}
}

// dequeueEvent takes the oldest Event of the next namespace in turn. ok is false if the queue is empty.
func (q *eventQueue) dequeueEvent() (e queuedEvent, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.count == 0 {
		return e, false
	}
	namespace := q.next[0]
	q.next = q.next[1:]
	e, q.waiting[namespace] = q.waiting[namespace][0], q.waiting[namespace][1:]
	q.count--
	if len(q.waiting[namespace]) == 0 {
		delete(q.waiting, namespace)
	} else {
		q.next = append(q.next, namespace)
	}
	return e, true
}

// queueEvent queues an Event, unless the server is standalone.
func (a *announcer) queueEvent(e queuedEvent) {
	if a.recorder != nil {
		a.queue.addEvent(e)
	}
}

// announceWithdrawn announces that an object leaves its zone at the Unix time endsAt, or stays if endsAt is 0. The
// reference has no resourceVersion, so that an object's Events form a series.
func (a *announcer) announceWithdrawn(object metav1.Object, endsAt int64, message string) {
	about := referTo("Record", object)
	if _, ok := object.(*v1alpha1.Zone); ok {
		about.Kind = "Zone"
	}
	event := queuedEvent{about: about, kind: corev1.EventTypeNormal, reason: reasonRestored, action: actionRestore,
		note: "rules allow it again, and it does not end: " + message}
	if endsAt != 0 {
		date := "about " + time.Unix(endsAt, 0).UTC().Format(time.RFC3339)
		event = queuedEvent{about: about, kind: corev1.EventTypeWarning, reason: v1alpha1.ReasonDelegationWithdrawn, action: actionWithdraw,
			note: strings.Replace(message, "about status.endsAt", date, 1)}
	}
	a.queueEvent(event)
}

// announceExpiring announces that a Record expires soon. The note has the time.
func (a *announcer) announceExpiring(record metav1.Object, _ int64, note string) {
	a.queueEvent(queuedEvent{about: referTo("Record", record), kind: corev1.EventTypeNormal, reason: reasonExpiring,
		action: actionExpire, note: note})
}

func (a *announcer) announceRefused(key *v1alpha1.UpdateKey, rcode, message string) {
	a.announceKey(key, reasonRefused, actionUpdate, rcode+": "+message)
}

func (a *announcer) announceNameTaken(key *v1alpha1.UpdateKey, message string) {
	a.announceKey(key, v1alpha1.ReasonKeyNameTaken, actionServe, message)
}

func (a *announcer) announceKey(key *v1alpha1.UpdateKey, reason, action, note string) {
	if a.recorder == nil || a.isRepeated(string(key.UID)+" "+reason) {
		return
	}
	a.queue.addEvent(queuedEvent{about: referTo("UpdateKey", key), kind: corev1.EventTypeWarning, reason: reason, action: action,
		note: note})
}

func (a *announcer) isRepeated(event string) bool {
	_, again := a.recentEvents.Get(event)
	if !again {
		a.recentEvents.Add(event, nil, refusedInterval)
	}
	return again
}

// announceNotices announces what a write in a zone does to others: names hidden from a wildcard, or a host taken
// (S4.25, S4.26). Each repetition within refusedInterval is dropped.
func (a *announcer) announceNotices(o *v1alpha1.Zone, notices []law.Notice) {
	if a.recorder == nil {
		return
	}
	about := referTo("Zone", o)
	for _, notice := range notices {
		if a.isRepeated(fmt.Sprint(o.UID, " ", notice.Reason, " ", notice.Name, " ", notice.Namespace)) {
			continue
		}
		e := queuedEvent{about: about, kind: corev1.EventTypeWarning, reason: notice.Reason}
		switch notice.Reason {
		case law.NoticeNameHidden:
			e.action, e.note = actionHide, notice.Name.String()+" has no answer from the wildcard above: names exist below it (S4.25; "+
				"write a record there, or narrow the rule)"
		case law.NoticeHostTaken:
			e.action, e.note = actionTake, notice.Name.String()+" is taken by another namespace, and records of namespace "+
				o.Namespace+" point there (S4.26; let the records name another host, or reserve the name)"
		}
		// The wildcard's tenant may not read Events of the Zone, so the Event is about a Record of the tenant.
		if notice.Namespace != "" {
			e.about = &corev1.ObjectReference{APIVersion: about.APIVersion, Kind: "Record", Namespace: notice.Namespace}
			e.find = func(ctx context.Context) (string, string, error) {
				return a.members(ctx, string(o.UID), notice.Wildcard, notice.Namespace)
			}
		}
		a.queue.addEvent(e)
	}
}

// writeQueued writes queued Events until ctx ends, at most queuedRate a second.
func (a *announcer) writeQueued(ctx context.Context) {
	limit := rate.NewLimiter(queuedRate, queuedRate)
	for limit.Wait(ctx) == nil {
		e, ok := a.queue.dequeueEvent()
		for ; !ok; e, ok = a.queue.dequeueEvent() {
			select {
			case <-ctx.Done():
				return
			case <-a.queue.added:
			}
		}
		// Look up the Record only now: it may have gone while the Event waited.
		if e.find != nil {
			object, uid, err := e.find(ctx)
			if e.about.Name, e.about.UID = object, types.UID(uid); err != nil || object == "" {
				continue
			}
		}
		last := ""
		// A fault often begins with a change, so a Warning names the last change of the zone.
		if e.zone != nil && e.kind == corev1.EventTypeWarning && a.lastChange != nil {
			within, cancel := context.WithTimeout(ctx, lastTimeout)
			last = a.lastChange(within, e.zone)
			cancel()
		}
		a.recorder.Eventf(e.about, nil, e.kind, e.reason, e.action, "%s", cutNote(e.note, maxNote-len(last))+last)
	}
}

// announceZone announces what the judge of Ready has found: kind is that of a Kubernetes Event.
func (a *announcer) announceZone(o *v1alpha1.Zone, kind, reason, message string) {
	klog.Background().Info("Ready of a Zone", "zone", klog.KObj(o), "reason", reason, "message", message)
	a.queueEvent(queuedEvent{about: referTo("Zone", o), kind: kind, reason: reason, action: actionDeliver, note: message, zone: o})
}

// announceHeld announces that a zone is held for a mass deletion (S7.5). The note has the command that lets the
// deletion through.
func (a *announcer) announceHeld(o *v1alpha1.Zone) {
	settled := meta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionSettled)
	if settled == nil {
		return
	}
	klog.Background().Info("A Zone is held for a mass deletion and not delivered", "zone", klog.KObj(o),
		"serial", o.Status.SettledSerial, "message", settled.Message)
	about := referTo("Zone", o)
	about.ResourceVersion = o.ResourceVersion
	a.queueEvent(queuedEvent{about: about, kind: corev1.EventTypeWarning, reason: v1alpha1.ReasonMassDeletion, action: actionHold,
		note: settled.Message, zone: o})
}

func cutNote(message string, most int) string {
	if len(message) > most {
		message = strings.ToValidUTF8(message[:max(0, most)], "")
	}
	return message
}

func referTo(kind string, o metav1.Object) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: kind, Namespace: o.GetNamespace(),
		Name: o.GetName(), UID: o.GetUID()}
}
