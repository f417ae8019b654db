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
	"kubi.zone/kubizone/pkg/law"
)

const (
	// actionHold is what Events of Zones that a mass deletion holds back say was done, as events.k8s.io/v1 asks for.
	actionHold = "Hold"
	// actionWithdraw and actionRestore are the same for what the rules of a zone allow no more, and again.
	actionWithdraw, actionRestore = "Withdraw", "Restore"
	reasonRestored                = "DelegationRestored"
	// actionUpdate, actionServe and reasonRefused are for Events of UpdateKeys. In refusedInterval an UpdateKey gets at
	// most one Event for each reason.
	actionUpdate, actionServe, reasonRefused = "Update", "Serve", "UpdateRefused"
	refusedInterval                          = 10 * time.Second
	// actionHide and actionTake are for Events of law.News, each name at most once in refusedInterval.
	actionHide, actionTake = "Hide", "Take"
	// maxNote is what events.k8s.io/v1 takes of a message.
	maxNote = 1024
	// maxQueued bounds the Events that wait, and queuedRate how many a second are written: admission asks
	// kube-apiserver by the same client. An Event that finds no place is dropped, since the status of its object says
	// the same.
	maxQueued  = 1000
	queuedRate = 10
	// maxRefused bounds the last Events of UpdateKeys and of law.News that are remembered. After one that is forgotten
	// the next Event may come sooner.
	maxRefused = 1000
)

// announcer writes Events at kube-apiserver. A standalone server writes them to the log.
type announcer struct {
	broadcaster events.EventBroadcaster // nil: standalone
	recorder    events.EventRecorder
	queue       *eventQueue
	refused     *cache.LRUExpireCache // UIDs of UpdateKeys and Zones, with the reasons or names of Events in refusedInterval
	// members is ledger.Ledger.FirstMember.
	members func(ctx context.Context, zone string, owner name.Rel, namespace string) (object, uid string, err error)
}

func newAnnouncer(client kubernetes.Interface) announcer {
	b := events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})
	return announcer{broadcaster: b, recorder: b.NewRecorder(scheme.Scheme, Component), queue: newEventQueue(),
		refused: cache.NewLRUExpireCache(maxRefused)}
}

// queuedEvent is an Event to be written. Where find is set, it has name and uid of the object; "": there is none any
// more.
type queuedEvent struct {
	about                      *corev1.ObjectReference
	kind, reason, action, note string
	find                       func(context.Context) (object, uid string, err error)
}

// eventQueue hands out Events of all namespaces in turn. When it is full, a new Event replaces the last Event of the
// namespace with the most, if that has at least two more than the namespace of the new one.
type eventQueue struct {
	mu      sync.Mutex
	waiting map[string][]queuedEvent // by namespace, none of them empty
	next    []string                 // each namespace once
	count   int
	added   chan struct{} // addEvent puts an element in, which wakes the writer
}

func newEventQueue() *eventQueue {
	return &eventQueue{waiting: map[string][]queuedEvent{}, added: make(chan struct{}, 1)}
}

func (q *eventQueue) addEvent(e queuedEvent) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e.note = cutNote(e.note)
	of := e.about.Namespace
	if q.count == maxQueued {
		longest := of
		for namespace, events := range q.waiting {
			if len(events) > len(q.waiting[longest]) {
				longest = namespace
			}
		}
		last := len(q.waiting[longest]) - 1
		if last <= len(q.waiting[of]) {
			return
		}
		q.waiting[longest] = q.waiting[longest][:last]
		q.count--
	}
	if len(q.waiting[of]) == 0 {
		q.next = append(q.next, of)
	}
	q.waiting[of] = append(q.waiting[of], e)
	q.count++
	select {
	case q.added <- struct{}{}:
	default:
	}
}

// takeNext removes the first Event of the namespace whose turn it is.
func (q *eventQueue) takeNext() (e queuedEvent, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.count == 0 {
		return e, false
	}
	of := q.next[0]
	q.next = q.next[1:]
	e, q.waiting[of] = q.waiting[of][0], q.waiting[of][1:]
	q.count--
	if len(q.waiting[of]) == 0 {
		delete(q.waiting, of)
	} else {
		q.next = append(q.next, of)
	}
	return e, true
}

// announceWithdrawn tells the owner of a Record or Zone when it ends, or with 0 that it does not any more (S2.12,
// S3.5). The reference has no resourceVersion, so that rules which come and go make one series of Events.
func (a *announcer) announceWithdrawn(o metav1.Object, endsAt int64, message string) {
	if a.recorder == nil {
		return
	}
	about := &corev1.ObjectReference{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "Record",
		Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID()}
	if _, ok := o.(*v1alpha1.Zone); ok {
		about.Kind = "Zone"
	}
	e := queuedEvent{about: about, kind: corev1.EventTypeNormal, reason: reasonRestored, action: actionRestore,
		note: "rules allow it again, and it does not end: " + message}
	if endsAt != 0 {
		at := "about " + time.Unix(endsAt, 0).UTC().Format(time.RFC3339)
		e = queuedEvent{about: about, kind: corev1.EventTypeWarning, reason: v1alpha1.ReasonDelegationWithdrawn, action: actionWithdraw,
			note: strings.Replace(message, "about status.endsAt", at, 1)}
	}
	a.queue.addEvent(e)
}

// announceRefused tells the owner of an UpdateKey why an update was refused (S13.7).
func (a *announcer) announceRefused(key *v1alpha1.UpdateKey, rcode, message string) {
	a.announceKey(key, reasonRefused, actionUpdate, rcode+": "+message)
}

// announceNameTaken tells the owner of an UpdateKey that another key has its TSIG name (S13.3).
func (a *announcer) announceNameTaken(key *v1alpha1.UpdateKey, message string) {
	a.announceKey(key, v1alpha1.ReasonKeyNameTaken, actionServe, message)
}

func (a *announcer) announceKey(key *v1alpha1.UpdateKey, reason, action, note string) {
	if a.recorder == nil || a.isRepeated(string(key.UID)+" "+reason) {
		return
	}
	about := &corev1.ObjectReference{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "UpdateKey", Namespace: key.Namespace,
		Name: key.Name, UID: key.UID}
	a.queue.addEvent(queuedEvent{about: about, kind: corev1.EventTypeWarning, reason: reason, action: action, note: note})
}

// isRepeated reports whether an Event was announced in the last refusedInterval, and notes it.
func (a *announcer) isRepeated(event string) bool {
	_, again := a.refused.Get(event)
	if !again {
		a.refused.Add(event, nil, refusedInterval)
	}
	return again
}

// announceNews writes an Event about a hidden name or a taken host, at the Zone or at a tenant's Record of the
// wildcard (S4.25, S4.26). The reference has no resourceVersion: repeated news of a name make one series of Events.
func (a *announcer) announceNews(o *v1alpha1.Zone, news []law.News) {
	if a.recorder == nil {
		return
	}
	about := &corev1.ObjectReference{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "Zone", Namespace: o.Namespace, Name: o.Name,
		UID: o.UID}
	for _, x := range news {
		if a.isRepeated(fmt.Sprint(o.UID, " ", x.Reason, " ", x.Name, " ", x.Namespace)) {
			continue
		}
		e := queuedEvent{about: about, kind: corev1.EventTypeWarning, reason: x.Reason}
		switch x.Reason {
		case law.NewsNameHidden:
			e.action, e.note = actionHide, x.Name.String()+" has no answer from the wildcard above: records that underscore rules let "+
				"in stand below it (S4.25; write a record there, or narrow the rule)"
		case law.NewsHostTaken:
			e.action, e.note = actionTake, x.Name.String()+" is taken by another namespace, and records of namespace "+
				o.Namespace+" lead there (S4.26; let the records name another host, or reserve the name)"
		}
		if x.Namespace != "" {
			e.about = &corev1.ObjectReference{APIVersion: about.APIVersion, Kind: "Record", Namespace: x.Namespace}
			e.find = func(ctx context.Context) (string, string, error) {
				return a.members(ctx, string(o.UID), x.Wildcard, x.Namespace)
			}
		}
		a.queue.addEvent(e)
	}
}

// writeQueued writes the Events that wait, until ctx ends.
func (a *announcer) writeQueued(ctx context.Context) {
	limit := rate.NewLimiter(queuedRate, queuedRate)
	for limit.Wait(ctx) == nil {
		e, ok := a.queue.takeNext()
		for ; !ok; e, ok = a.queue.takeNext() {
			select {
			case <-ctx.Done():
				return
			case <-a.queue.added:
			}
		}
		if e.find != nil {
			object, uid, err := e.find(ctx)
			if e.about.Name, e.about.UID = object, types.UID(uid); err != nil || object == "" {
				continue
			}
		}
		a.recorder.Eventf(e.about, nil, e.kind, e.reason, e.action, "%s", e.note)
	}
}

// announceHeld tells the owner of a Zone that it is not delivered any more, and how to let it through (S7.5).
func (a *announcer) announceHeld(o *v1alpha1.Zone) {
	settled := meta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionSettled)
	if settled == nil {
		return
	}
	klog.Background().Info("A Zone is not delivered until its mass deletion is let through", "zone", klog.KObj(o),
		"serial", o.Status.SettledSerial, "message", settled.Message)
	if a.recorder == nil {
		return
	}
	about := &corev1.ObjectReference{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "Zone", Namespace: o.Namespace, Name: o.Name,
		UID: o.UID, ResourceVersion: o.ResourceVersion}
	a.queue.addEvent(queuedEvent{about: about, kind: corev1.EventTypeWarning, reason: v1alpha1.ReasonMassDeletion, action: actionHold,
		note: settled.Message})
}

// cutNote returns as much of a message as an Event takes.
func cutNote(message string) string {
	if len(message) > maxNote {
		message = strings.ToValidUTF8(message[:maxNote], "")
	}
	return message
}
