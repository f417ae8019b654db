// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"net/netip"
	"sync"
	"time"

	"k8s.io/klog/v2"
)

// TLSFault is why a server of a class transfers nothing over TLS.
type TLSFault struct {
	// Cause is one of the constants TLSNotUsed to TLSHandshake; Text describes it.
	Cause, Text string
	Since, Last time.Time
}

// tlsFaults has the faults of servers that classes list. A stranger cannot cause them over TCP.
type tlsFaults struct {
	log klog.Logger

	after time.Duration // Config.NotifyFaultAfter

	mu     sync.Mutex
	faults map[*Class]map[netip.Addr]*TLSFault
}

func newTLSFaults(after time.Duration, log klog.Logger) *tlsFaults {
	return &tlsFaults{log: log, after: after, faults: map[*Class]map[netip.Addr]*TLSFault{}}
}

// noteFault keeps the fault of a source that the class lists, and logs the cause of a handshake once.
func (f *tlsFaults) noteFault(class *Class, from netip.Addr, cause, text string, now time.Time) {
	if !class.lists(from) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.faults[class] == nil {
		f.faults[class] = map[netip.Addr]*TLSFault{}
	}
	known := f.faults[class][from]
	if known == nil || now.Sub(known.Last) >= faultKept {
		known = &TLSFault{Since: now}
		f.faults[class][from] = known
	}
	known.Last = now
	switch {
	// BIND 9.18 asks for the SOA in clear before each transfer over TLS, so the handshake explains more.
	case cause == TLSNotUsed && known.Cause != "":
		return
	case cause != TLSNotUsed && cause != known.Cause:
		f.log.Error(nil, "A server of a class transfers nothing over TLS", "class", class.name, "from", from.String(), "cause", cause,
			"why", text)
	}
	known.Cause, known.Text = cause, text
}

// noteSuccess ends the faults of a source that a class admits over TLS.
func (f *tlsFaults) noteSuccess(open []admittingClass, from netip.Addr) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, class := range open {
		delete(f.faults[class.Class], from)
	}
}

func (f *tlsFaults) forgetClass(class *Class) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.faults, class)
}

// TLSFaults returns the faults of the servers that a class lists, by address: those that last for
// Config.NotifyFaultAfter, and came again in the last minutes.
func (p *Primary) TLSFaults(class *Class) map[netip.Addr]TLSFault {
	f, now := p.classes.faults, p.config.Clock()
	f.mu.Lock()
	defer f.mu.Unlock()
	faults := map[netip.Addr]TLSFault{}
	for from, fault := range f.faults[class] {
		if now.Sub(fault.Since) >= f.after && now.Sub(fault.Last) < faultKept {
			faults[from] = *fault
		}
	}
	return faults
}
