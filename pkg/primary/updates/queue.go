// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package updates

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"runtime/debug"
	"sync"
	"time"

	mdns "github.com/miekg/dns"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/primary/replay"
	"kubi.zone/kubizone/pkg/primary/tsig"
	"kubi.zone/kubizone/pkg/slots"
	"kubi.zone/kubizone/pkg/update"
	"kubi.zone/kubizone/pkg/update/wire"
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
}

func NewQueue(handler Handler, clock func() time.Time, log klog.Logger) *Queue {
	return &Queue{handler: handler, log: log, running: slots.New(maxRunning, MaxRunningOfTenant).WithSpare(Spare),
		waiting: slots.New(maxWaiting, MaxWaitingOfTenant), answers: replay.New(clock, tsig.Fudge), octetsOf: map[string]int{}}
}

func (q *Queue) Share(ctx context.Context, key *Key, zone name.Name) ([]content.RRset, error) {
	return q.handler.Share(ctx, key, zone)
}

func (q *Queue) AcceptsFrom() time.Time { return q.answers.AcceptsFrom() }

// Enter copies the message's octets and reserves a slot. It returns false if the queue is full. Otherwise the caller
// must call Apply.
func (q *Queue) Enter(m *Message) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	tenant, octets := m.Key.Tenant, len(m.Octets)
	isFull := q.octets+octets > maxOctets || q.octetsOf[tenant]+octets > maxOctetsOfTenant
	if isFull {
		return false
	}
	if m.slot, _ = q.waiting.Take(slots.Client{Tenant: tenant}, nil); m.slot == nil {
		return false
	}
	m.Octets = bytes.Clone(m.Octets)
	q.countOctets(tenant, octets)
	return true
}

func (q *Queue) release(m *Message) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.countOctets(m.Key.Tenant, -len(m.Octets))
	m.slot.Release()
}

func (q *Queue) countOctets(tenant string, octets int) {
	q.octets += octets
	if q.octetsOf[tenant] += octets; q.octetsOf[tenant] == 0 {
		delete(q.octetsOf, tenant)
	}
}

// Apply waits until the limits allow the message, and calls the Handler. It returns the Handler's RCODE, SERVFAIL after
// the timeout, or BADTIME for a possible replay. A repeated message gets its first RCODE again.
func (q *Queue) Apply(ctx context.Context, m *Message, timeout time.Duration) (rcode uint16) {
	defer q.release(m)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()

	isQuestion := m.Octets == nil
	if isQuestion {
		return q.callWhenFree(ctx, m)
	}

	answer, isFirst := q.answers.Begin(m.Key.Tenant, m.id(), m.SignedAt)
	if answer == nil {
		q.logRefusal(m, "signed before the remembered updates")
		return tsig.BadTime
	}
	if isFirst {
		rcode := q.callWhenFree(ctx, m)
		answer.End(rcode, rcode != mdns.RcodeServerFailure) // after SERVFAIL a retry is applied
		return rcode
	}

	if rcode, ok := answer.Wait(ctx); ok {
		return rcode
	}
	return mdns.RcodeServerFailure
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
		asked = read
		asked.ID = m.id()
	}
	return q.handler.Update(ctx, m.Key, asked, m.From)
}
