// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"iter"
	"strings"
	"time"

	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
)

// Provider writes zones to name servers. Each class has one, used by any number of goroutines, each for another
// zone. Every method is idempotent, ends with the context, and returns errors as *Error.
type Provider interface {
	// Deliver brings plan.Zone at the provider to plan.Serial. It calls fence before every call with side effects
	// outside; if fence fails, it stops and returns that error unchanged. Every call outside ends within
	// plan.CallTimeout. Deliver as a whole may take long, but waits no longer than that for servers to follow: it
	// reports their serials and is called again. The report is valid beside an error too.
	Deliver(ctx context.Context, plan Plan, fence Fence) (Report, error)
	// Remove removes the RRsets that Deliver wrote for the zone, and no others. plan.All has the RRsets expected
	// there, plan.Changes further RRsets that may be there, with an empty After.
	Remove(ctx context.Context, plan Plan, fence Fence) (Report, error)
	// Verify compares without side effects. An error wraps ErrCannotList if the provider cannot tell its content.
	// Beside an error of ReasonInvalidConfiguration, Drift.Servers has the rows of the remaining servers.
	Verify(ctx context.Context, plan Plan) (Drift, error)
	// Health asks whether the provider answers and accepts the credentials. An error wraps ErrNotProven if the
	// answer does not tell.
	Health(ctx context.Context) error
	// AskLast asks each server once for the zone that it confirmed last. It returns the names of the servers with an
	// earlier serial, or without the zone: they may have lost other zones too. A server is returned once until it
	// confirms again. Nil from a provider whose servers do not fetch zones.
	AskLast(ctx context.Context) (lost []string)
	// Abilities are constant for the life of the provider.
	Abilities() Abilities
	// Close closes connections, as the last call.
	Close() error
}

// Abilities are the differences between providers. Callers use them, never the kind of a provider. They are a method
// and no optional interfaces, which a wrapper could hide unnoticed. deliverytest tests a provider by its Abilities.
// Differences by zone or call are in the answers: ErrCannotList, ErrNotProven, Drift.Unfit, Report.Skipped, and
// Report.Servers, the servers at that moment.
type Abilities struct {
	// Lists: Verify reads all content of a zone at the provider, and reports foreign RRsets. Without Lists, Verify
	// asks only for the RRsets of the zone.
	Lists bool
	// OwnApexNS: the provider has its own NS at the apex. The NS of the zone are not written, removed or compared.
	OwnApexNS bool
	// Fetched: servers fetch zones from the provider, so Deliver changes nothing outside. A confirmation proves
	// something only with rows in Report.Servers, and a comparison costs a query to each server.
	Fetched bool
	// Claims maps names that are unique across all classes to this class's use of them: a text to compare, never to
	// print.
	Claims map[string]string
}

// Fence proves that no other worker has begun to deliver a later plan of the zone. If that is unknown, it fails too.
// After an error nothing may be written (F22). Fence waits for the class's rate limit, so each call outside needs
// its own call of Fence. The first call records the intent; a Deliver without writes does not call Fence. ctx is the
// context of the method: the timeout of a call outside would run during the wait.
type Fence func(ctx context.Context) error

// Plan is one zone at one settled serial. Suppose example.org. had these RRsets at serial 7, confirmed by the
// provider, and has the following at 8:
//
//	at 7                        at 8
//	@    NS  ns1.example.net.   @     NS  ns1.example.net.
//	old  A   192.0.2.1
//	                            mail  A   192.0.2.2
//	www  A   192.0.2.3          www   A   192.0.2.4
//
// Then the plan has
//
//	Since 7, Serial 8, Delivered
//	Changes  mail A   Before nothing     After 192.0.2.2
//	         old  A   Before 192.0.2.1   After nothing
//	         www  A   Before 192.0.2.3   After 192.0.2.4
//	All      @ NS, mail A, www A, as they are at 8
//
// For a zone never delivered, or without a known difference, the plan has Since 0, Changes nil and the same All.
// Deliver has the effect of this code, in any number of calls outside:
//
//	puts := the After of each of plan.Changes
//	if plan.Changes == nil {
//		puts = plan.All                       // other RRsets at the provider stay
//	}
//	for each set of puts {
//		held := the RRset of the provider with set.Key(), if the provider can tell
//		switch {
//		case held is set:                     // nothing to do, nothing to ask
//		case held is not ours:                // neither Before nor, of an Uncertain plan, in Owed or History
//			report.Failed += set, Conflict    // or it is replaced, if the class says so
//		default:
//			if err := fence(ctx); err != nil { return report, err }
//			write set, or remove it if set has no Data
//			if the provider refuses it { report.Failed += set, its reason }
//		}
//	}
//	report.Confirmed = plan.Serial
type Plan struct {
	Zone name.Name
	// UID of the Zone object. A new Zone of the same name has another UID.
	UID string
	// Serial is the serial to deliver, Hash the hash of the zone's content.
	Serial serial.Serial
	Hash   string
	// Since is the last serial confirmed by the provider, 0 for none.
	Since serial.Serial
	// SOA is in absolute presentation form.
	SOA RRset
	// Changes are the RRsets that differ between Since and Serial, in canonical order. nil: the difference is
	// unknown, so the whole zone is compared or written, and other RRsets at the provider stay. Empty but not nil:
	// only the serial differs.
	Changes []Change
	// Uncertain: an earlier plan was written in part, or may still arrive. An RRset at the provider may be ours
	// though neither Before nor After, and is replaced. Providers that spare foreign RRsets consult Owed and
	// History.
	Uncertain bool
	// Delivered: an earlier serial was confirmed. Otherwise no RRset at the provider is known to be ours.
	Delivered bool
	// Owed and History of an uncertain plan tell the RRsets that may be ours. Owed are those refused or half
	// written; for all others in Changes, Before was confirmed. nil: too many to list. History has the changes of
	// each serial from the earliest that may be there up to All; nil if unknown.
	Owed    []RRsetKey
	History []dns.Change
	// Forgotten: the RRsets removed from the zone since an earlier delivery are unknown, so All and Changes do not
	// name all RRsets of ours that may be there.
	Forgotten bool
	// Named: Changes name all RRsets that may be there nevertheless, without their data.
	Named bool
	// CallTimeout bounds every call outside.
	CallTimeout time.Duration
	// Whole: Verify compares the whole zone in this call. Otherwise a provider that queries each RRset may compare
	// some of them, and continue in the next call.
	Whole bool
	// All yields all RRsets of the zone at Serial except SOA, in canonical order.
	All iter.Seq[RRset]
	// Servers names the rows of the last stored report. A server with a row may hold the zone, even if it has left
	// the class.
	Servers []string
}

type RRsetKey struct {
	Name name.Name
	Type rdata.Type
}

// String returns, for example, "www.example.org. A".
func (k RRsetKey) String() string { return k.Name.String() + " " + k.Type.String() }

// Digest returns the first eight octets of the SHA-256 of String.
func (k RRsetKey) Digest() uint64 {
	sum := sha256.Sum256([]byte(k.String()))
	return binary.BigEndian.Uint64(sum[:])
}

// Compare is the canonical order: names (RFC 4034 §6.1), then types by number.
func (k RRsetKey) Compare(other RRsetKey) int {
	return cmp.Or(k.Name.Compare(other.Name), cmp.Compare(k.Type, other.Type))
}

// ParseRRsetKey parses the result of RRsetKey.String.
func ParseRRsetKey(text string) (RRsetKey, error) {
	owner, mnemonic, _ := strings.Cut(text, " ")
	n, err := name.Parse(owner)
	if err != nil {
		return RRsetKey{}, fmt.Errorf("RRset %q: %w", text, err)
	}
	t, err := rdata.ParseType(mnemonic)
	if err != nil {
		return RRsetKey{}, fmt.Errorf("RRset %q: %w", text, err)
	}
	return RRsetKey{n, t}, nil
}

// RRset has absolute names in presentation form. Without Data it is absent.
type RRset struct {
	Name name.Name
	Type rdata.Type
	TTL  uint32
	Data []string
}

// Key returns the name and type.
func (s RRset) Key() RRsetKey { return RRsetKey{s.Name, s.Type} }

// GroupRRsets groups entries in canonical order into RRsets, without the SOA.
func GroupRRsets(entries iter.Seq[dns.Entry]) iter.Seq[RRset] {
	return func(yield func(RRset) bool) {
		var set RRset
		for entry := range entries {
			if entry.Type == rdata.SOA {
				continue
			}
			if key := (RRsetKey{entry.Name, entry.Type}); len(set.Data) == 0 || key != set.Key() {
				if len(set.Data) > 0 && !yield(set) {
					return
				}
				set = RRset{Name: entry.Name, Type: entry.Type, TTL: entry.TTL}
			}
			set.Data = append(set.Data, entry.Data)
		}
		if len(set.Data) > 0 {
			yield(set)
		}
	}
}

// Change is an RRset before and after a change. Both have the name and type.
type Change struct{ Before, After RRset }

// Report is the result of Deliver or Remove.
type Report struct {
	// Confirmed is the serial held by everything in the class, 0 if unknown.
	Confirmed serial.Serial
	// Servers has a row per server or instance, in the order of the class; none if the provider is one service.
	Servers []Server
	// Failed has the refused RRsets. All others are delivered: Confirmed is Serial nevertheless.
	Failed []Failure
	// Skipped counts RRsets without a form at the provider.
	Skipped int
	// Proven: an answer in this call proves the access to the provider.
	Proven bool
	// Remains: of a Forgotten zone, removed RRsets may still be at the provider.
	Remains bool
}

// Server is the row of one server of a class.
type Server struct {
	// Name is an address or the name of an instance.
	Name string
	// Serial is the server's serial of the zone, 0 for none or unknown.
	Serial serial.Serial
	// Note is a remark about a server without Err.
	Note string
	// Err is why the server does not have the serial; nil if it has, or is about to fetch it. The message names the
	// server, because Ready of the Delivery has no row.
	Err *Error
	// At is the time of the observation.
	At time.Time
}

// Alike compares all fields but the time and the note.
func (s Server) Alike(other Server) bool {
	if s.Err == nil != (other.Err == nil) || s.Err != nil && s.Err.Message != other.Err.Message {
		return false
	}
	return s.Name == other.Name && s.Serial == other.Serial
}

// Failure is one refused RRset.
type Failure struct {
	Name name.Name
	Type rdata.Type
	Err  *Error
}

// Alike compares all fields that a Store keeps.
func (f Failure) Alike(other Failure) bool {
	return f.Key() == other.Key() && f.Err.Reason == other.Err.Reason && f.Err.Code == other.Err.Code && f.Err.Message == other.Err.Message
}

// Key returns the name and type.
func (f Failure) Key() RRsetKey { return RRsetKey{f.Name, f.Type} }

// Drift is the difference between a provider's content and the zone.
type Drift struct {
	// Missing and Differing are RRsets as the zone has them.
	Missing, Differing []RRset
	// Unfit are RRsets without a form at the provider, or refused: missing there, and another delivery would not
	// help.
	Unfit []RRset
	// Foreign are RRsets not written by us. They stay.
	Foreign []RRset
	Servers []Server
}

// Empty reports whether no RRset is missing or differs.
func (d Drift) Empty() bool { return len(d.Missing)+len(d.Differing) == 0 }
