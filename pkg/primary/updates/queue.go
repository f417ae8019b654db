// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package updates

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/maphash"
	"net/netip"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	mdns "github.com/miekg/dns"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/tsig"
	"kubi.zone/kubizone/pkg/dns/update"
	"kubi.zone/kubizone/pkg/dns/update/wire"
	"kubi.zone/kubizone/pkg/kit/slots"
	"kubi.zone/kubizone/pkg/primary/replay"
	"kubi.zone/kubizone/pkg/zone/law/content"
)

type Message struct {
	Key  *Key
	From netip.Addr
	Zone name.Name
	// MAC is the signature, made at SignedAt in Unix seconds.
	MAC      []byte
	SignedAt int64
	// Octets is an UPDATE as received. If nil, the message is a question, such as a client's SOA query, and the Handler
	// gets Probe, a message without updates, to check the key's rights.
	Octets []byte
	Probe  *update.Message

	slot *slots.Slot
	// Of an UPDATE, set by Enter. The answer is nil if the message may be a replay. If isFirst is false, the answer is
	// that of an earlier copy.
	answer  *replay.Answer
	isFirst bool
	// owners has a hash of each name in the message, unless there are too many. earlier has the messages that are still
	// in the Queue and may have a name in common. ended is closed when the message leaves the Queue.
	owners  map[uint64]bool
	tooMany bool
	earlier []*Message
	ended   chan struct{}
}

func (m *Message) id() string {
	sum := sha256.Sum256(append([]byte(m.Key.Name), m.MAC...))
	return hex.EncodeToString(sum[:16])
}

const (
	// maxRunning limits messages in progress. Spare is for tenants with a full share, because concurrent messages for a
	// zone share transactions.
	maxRunning, MaxRunningOfTenant, Spare = 64, 8, 24
	maxWaiting, MaxWaitingOfTenant        = 512, 64
	maxOctets, maxOctetsOfTenant          = 4 << 20, 512 << 10
)

// Queue passes DNS UPDATE messages to a Handler, a limited number at a time, in total and for each tenant. It answers a
// repeated message with the first answer. Otherwise a client's retry could fail, because the first copy has made the
// prerequisites false, and an attacker could replay a message.
type Queue struct {
	handler Handler
	log     klog.Logger
	running *slots.Slots   // held by messages at the handler
	waiting *slots.Slots   // held by all messages
	answers *replay.Memory // the first answers, for repeated messages

	mu sync.Mutex
	// octets is the size of all messages in the Queue, and octetsOf their size by tenant.
	octets   int
	octetsOf map[string]int
	// inOrder has the updates of each tenant in order of arrival, without repeated messages.
	inOrder map[string][]*Message
	seed    maphash.Seed // of owners
}

func NewQueue(handler Handler, clock func() time.Time, log klog.Logger) *Queue {
	return &Queue{handler: handler, log: log, running: slots.New(maxRunning, MaxRunningOfTenant).WithSpare(Spare),
		waiting: slots.New(maxWaiting, MaxWaitingOfTenant), answers: replay.New(clock, tsig.Fudge), octetsOf: map[string]int{},
		inOrder: map[string][]*Message{}, seed: maphash.MakeSeed()}
}

func (q *Queue) Share(ctx context.Context, key *Key, zone name.Name) ([]content.RRset, error) {
	return q.handler.Share(ctx, key, zone)
}

func (q *Queue) AcceptsFrom() time.Time { return q.answers.AcceptsFrom() }

// Enter copies the message's octets and reserves a slot. It returns false if the queue is full. Otherwise the caller
// must call Apply. Updates of a tenant with a name in common are applied in the order in which Enter was called, so
// callers call it in order of arrival. An update with more than wire.MaxOwners names waits for all earlier updates of
// the tenant, and later ones wait for it.
func (q *Queue) Enter(m *Message) bool {
	isQuestion := m.Octets == nil
	if !isQuestion { // before the lock, which all tenants share
		m.owners, m.tooMany = wire.HashOwners(q.seed, m.Octets)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	tenant, octets := m.Key.Tenant, len(m.Octets)
	// Two limits: a tenant with an endless stream of updates fills its own part, and not the queue.
	isFull := q.octets+octets > maxOctets || q.octetsOf[tenant]+octets > maxOctetsOfTenant
	if isFull {
		return false
	}
	if m.slot, _ = q.waiting.Take(slots.Client{Tenant: tenant}, nil); m.slot == nil {
		return false
	}
	m.Octets = bytes.Clone(m.Octets)
	q.countOctets(tenant, octets)

	if isQuestion {
		return true
	}
	// A copy takes no place in the order: it waits for the answer to the original.
	if m.answer, m.isFirst = q.answers.Begin(tenant, m.id(), m.SignedAt); m.isFirst {
		q.enterOrder(m)
	}
	return true
}

// enterOrder puts the message behind the tenant's earlier updates, to wait for those with a name in common, for example
// an earlier update of the TXT at _acme-challenge.example.org. The caller holds q.mu.
func (q *Queue) enterOrder(m *Message) {
	tenant := m.Key.Tenant
	m.ended = make(chan struct{})
	for _, earlier := range q.inOrder[tenant] {
		if m.mayShareName(earlier) {
			m.earlier = append(m.earlier, earlier)
		}
	}
	q.inOrder[tenant] = append(q.inOrder[tenant], m)
}

// mayShareName reports whether two messages may have a name in common. Equal hashes count, so that a collision delays
// and never reorders.
func (m *Message) mayShareName(other *Message) bool {
	if m.tooMany || other.tooMany {
		return true
	}
	for owner := range m.owners {
		if other.owners[owner] {
			return true
		}
	}
	return false
}

// leaveOrder wakes the messages that wait for this message. The caller holds q.mu.
func (q *Queue) leaveOrder(m *Message) {
	tenant := m.Key.Tenant
	q.inOrder[tenant] = slices.DeleteFunc(q.inOrder[tenant], func(other *Message) bool { return other == m })
	if len(q.inOrder[tenant]) == 0 {
		delete(q.inOrder, tenant)
	}
	close(m.ended)
}

func (q *Queue) release(m *Message) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if m.isFirst {
		q.leaveOrder(m)
	}
	q.countOctets(m.Key.Tenant, -len(m.Octets))
	m.slot.Release()
}

func (q *Queue) countOctets(tenant string, octets int) {
	q.octets += octets
	if q.octetsOf[tenant] += octets; q.octetsOf[tenant] == 0 {
		delete(q.octetsOf, tenant)
	}
}

// Apply waits for the limits and for earlier updates of the same names, and calls the Handler. It returns the Handler's
// RCODE, SERVFAIL after the timeout, or BADTIME for a possible replay. A repeated message gets its first RCODE again.
func (q *Queue) Apply(ctx context.Context, m *Message, timeout time.Duration) (rcode uint16) {
	defer q.release(m)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()

	isQuestion := m.Octets == nil
	switch {
	case isQuestion:
		return q.callWhenFree(ctx, m)
	// The answer of a first copy may be forgotten, after a restart or for space, so this could be the second.
	case m.answer == nil:
		q.logRefusal(m, "signed before the remembered updates")
		return tsig.BadTime
	case m.isFirst:
		// The order does not bind a message whose time is over.
		rcode := uint16(mdns.RcodeServerFailure)
		if m.waitForEarlier(ctx) {
			rcode = q.callWhenFree(ctx, m)
		}
		m.answer.End(rcode, rcode != mdns.RcodeServerFailure) // after SERVFAIL a retry is applied
		return rcode
	}

	// A copy, sent again over UDP after five seconds: wait for the answer to the first.
	if rcode, ok := m.answer.Wait(ctx); ok {
		return rcode
	}
	return mdns.RcodeServerFailure
}

// waitForEarlier waits for every earlier message with a name in common, and not for the last alone: the last may have
// timed out while another is still at the Handler. It waits without a running slot, and returns false if ctx ends.
func (m *Message) waitForEarlier(ctx context.Context) bool {
	for _, earlier := range m.earlier {
		select {
		case <-earlier.ended:
		case <-ctx.Done():
			return false
		}
	}
	m.earlier = nil // else a stream of updates of a name would keep all of them
	return true
}

func (q *Queue) logRefusal(m *Message, why string) {
	q.log.V(2).Info("Refused", "zone", m.Zone.String(), "from", m.From.String(), "key", m.Key.ID, "why", why)
}

func (q *Queue) callWhenFree(ctx context.Context, m *Message) uint16 {
	place := q.running.TakeInOrder(ctx, slots.Client{Tenant: m.Key.Tenant})
	if place == nil {
		return mdns.RcodeServerFailure
	}
	defer place.Release()
	return q.callHandler(ctx, m)
}

// callHandler parses the message and calls the Handler. A panic becomes SERVFAIL.
func (q *Queue) callHandler(ctx context.Context, m *Message) (rcode uint16) {
	defer func() {
		if why := recover(); why != nil {
			q.log.Error(fmt.Errorf("panic: %v", why), "Update not carried out; this is a defect", "key", m.Key.ID,
				"stack", string(debug.Stack()))
			rcode = mdns.RcodeServerFailure
		}
	}()
	asked := m.Probe
	if m.Octets != nil {
		read, failure := wire.Parse(m.Octets)
		if failure != nil {
			q.logRefusal(m, failure.Reason)
			return uint16(failure.RCode)
		}
		// The Records of the message are annotated with the ID, which a repeated message has, too.
		asked = read
		asked.ID = m.id()
	}
	return q.handler.Update(ctx, m.Key, asked, m.From)
}
