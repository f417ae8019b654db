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

// Provider writes zones to name servers. Many goroutines call it, each for another zone. Methods are idempotent, end
// with the context, and return errors as *Error.
type Provider interface {
	// Deliver writes plan.Zone at plan.Serial. It calls fence before every call that changes the provider, and returns
	// the fence's error unchanged. Each call, and the wait for servers that fetch the zone, ends within
	// plan.CallTimeout. If a server lags, the report has its serial, and the Loop calls Deliver again. The report is
	// valid even with an error.
	Deliver(ctx context.Context, plan Plan, fence Fence) (Report, error)
	// Remove removes the RRsets that Deliver wrote and no others, namely plan.All and those of plan.Changes with an
	// empty After, if the provider has them.
	Remove(ctx context.Context, plan Plan, fence Fence) (Report, error)
	// Verify compares plan and provider without side effects. If the provider cannot list its content, the error wraps
	// ErrCannotList. With ReasonInvalidConfiguration, Drift.Servers has the servers that left the class.
	Verify(ctx context.Context, plan Plan) (Drift, error)
	// Health returns nil if the provider accepts the credentials. If the answer does not show this, the error wraps
	// ErrNotProven.
	Health(ctx context.Context) error
	// AskLast asks each server for its zone that changed last, and returns the servers without that serial, because
	// they may have lost other zones, too. A server is returned once, until it confirms again. Nil if servers do not
	// fetch zones.
	AskLast(ctx context.Context) (lost []string)
	Abilities() Abilities
	Close() error
}

// Abilities describes differences between providers. It is a struct instead of optional interfaces, which a wrapper
// would hide.
type Abilities struct {
	// Lists is true if Verify reads the whole zone at the provider, including RRsets of others.
	Lists bool
	// OwnApexNS is true if the provider has its own apex NS records. Those of the zone are then not written, removed or
	// compared.
	OwnApexNS bool
	// Fetched is true if servers fetch zones by transfer. A confirmation then needs rows in Report.Servers.
	Fetched bool
	// Claims maps names reserved to a single class, for example of TSIG keys, to their use. Two classes with an equal
	// value do not conflict. The value may be secret, so never print it.
	Claims map[string]string
}

// Fence is the check before each write to the provider. It returns an error if another worker has begun a later plan of
// the zone. After an error, nothing may be written. An attempt's first call stores the intent, the serial about to be
// written. Pass the method's ctx, because each call waits for the class's rate limit.
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
// Deliver has the effect of this code, in any number of calls:
//
//	puts := the After of each of plan.Changes
//	if plan.Changes == nil {
//		puts = plan.All                       // other RRsets at the provider stay
//	}
//	for each set of puts {
//		held := the RRset of the provider with set.Key(), if the provider can tell
//		switch {
//		case held is set:                     // nothing to do
//		case held is not ours:                // neither Before nor, of an Uncertain plan, in Unconfirmed or History
//			report.Failed += set, Conflict    // or it is replaced, if the class says so
//		default:
//			if err := fence(ctx); err != nil { return report, err }
//			write set, or remove it if set has no Data
//			if the provider refuses it { report.Failed += set, its reason }
//		}
//	}
//	report.Confirmed = plan.Serial
type Plan struct {
	Zone   name.Name
	UID    string
	Serial serial.Serial
	Hash   string
	// Since is the last confirmed serial; 0 if there is none or Changes is nil. Confirmed is the time of its first
	// confirmation.
	Since     serial.Serial
	Confirmed time.Time
	SOA       RRset
	// Changes are the RRsets that differ between Since and Serial, in canonical order. Nil means unknown, so the whole
	// zone is compared or written. Empty but not nil means that only the serial differs.
	Changes []Change
	// Uncertain is true if an earlier plan was written in part, or may still arrive. An RRset at the provider that
	// equals neither Before nor After may then be ours, and is replaced. Providers that spare foreign RRsets first
	// consult Unconfirmed and History.
	Uncertain bool
	// Delivered is true if an earlier serial was confirmed. Otherwise no RRset at the provider is known to be ours.
	Delivered bool
	// Unconfirmed lists the RRsets of an Uncertain plan that were refused or half written; nil if too many. For all
	// other RRsets in Changes, Before is confirmed. History has the changes of each serial since the earliest that may
	// be at the provider; nil if unknown.
	Unconfirmed []RRsetKey
	History     []dns.Change
	// Forgotten is true if the history no longer names all removed RRsets. The provider may then have further RRsets of
	// ours.
	Forgotten bool
	// Named is true if Changes of a Forgotten plan lists all removed RRsets nevertheless, without their data.
	Named bool
	// CallTimeout bounds each call; 0 means the provider's default.
	CallTimeout time.Duration
	// Whole makes Verify compare the whole zone. Otherwise a provider that queries each RRset may compare a part, and
	// continue in the next call.
	Whole bool
	// All yields the RRsets at Serial except the SOA, in canonical order.
	All iter.Seq[RRset]
	// Servers has the rows of the last report, also of servers that left the class but may have the zone.
	Servers   []Server
	Requested bool
}

func (p Plan) ServerNames() []string { return namesOf(p.Servers) }

func namesOf(servers []Server) (names []string) {
	for _, server := range servers {
		names = append(names, server.Name)
	}
	return names
}

type RRsetKey struct {
	Name name.Name
	Type rdata.Type
}

func (k RRsetKey) String() string { return k.Name.String() + " " + k.Type.String() }

func (k RRsetKey) Digest() uint64 {
	sum := sha256.Sum256([]byte(k.String()))
	return binary.BigEndian.Uint64(sum[:])
}

// Compare orders names canonically (RFC 4034 §6.1), then types by number.
func (k RRsetKey) Compare(other RRsetKey) int {
	return cmp.Or(k.Name.Compare(other.Name), cmp.Compare(k.Type, other.Type))
}

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

// RRset has absolute names, and data in presentation format; no Data means no RRset.
type RRset struct {
	Name name.Name
	Type rdata.Type
	TTL  uint32
	Data []string
}

func (s RRset) Key() RRsetKey { return RRsetKey{s.Name, s.Type} }

// GroupRRsets joins neighbouring entries of one name and type, so entries must be in canonical order. The SOA is left
// out. The TTL is that of the first entry.
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

type Change struct{ Before, After RRset }

type Report struct {
	// Confirmed is the serial confirmed by all servers of the class; 0 if unknown.
	Confirmed serial.Serial
	// Servers has a row for each server, in the class's order; empty for a single service.
	Servers []Server
	// Failed has the refused RRsets, which do not prevent the confirmation.
	Failed []Failure
	// Skipped counts failed RRsets without a form at the provider. Proven is true if the credentials were accepted.
	Skipped int
	Proven  bool
	// Remains is true if removed RRsets of a Forgotten plan may still be at the provider.
	Remains bool
}

type Server struct {
	Name string
	// Serial is the server's serial of the zone; 0 for none or unknown.
	Serial serial.Serial
	Note   string
	// Err explains why the server lacks the serial, and names the server; nil if a fetch is expected.
	Err *Error
	At  time.Time
	// DiffersSince is the zone's serial when Content first became ContentDiffers, or 0.
	Content      Content
	DiffersSince serial.Serial
	// AwaitsSerial is true if the server transfers the zone again at a later serial (S6.11): two signed answers prove
	// that the server is ahead, or its data differ and it has not transferred the zone whole since.
	AwaitsSerial bool
}

// Content is the result of a comparison; "" means equal or not compared yet.
type Content string

const (
	ContentDiffers Content = "Differs"
	// ContentNotCompared is for servers with refused or slow transfers (Note).
	ContentNotCompared Content = "NotCompared"
)

// Alike ignores At and Note, which change with each probe, and the Reason of an error, which a Delivery may lack.
func (s Server) Alike(other Server) bool {
	if s.Err == nil != (other.Err == nil) || s.Err != nil && s.Err.Message != other.Err.Message {
		return false
	}
	return s.Name == other.Name && s.Serial == other.Serial && s.Content == other.Content && s.DiffersSince == other.DiffersSince &&
		s.AwaitsSerial == other.AwaitsSerial
}

type Failure struct {
	Name name.Name
	Type rdata.Type
	Err  *Error // never nil
}

func (f Failure) Alike(other Failure) bool {
	return f.Key() == other.Key() && f.Err.Reason == other.Err.Reason && f.Err.Code == other.Err.Code && f.Err.Message == other.Err.Message
}

func (f Failure) Key() RRsetKey { return RRsetKey{f.Name, f.Type} }

type Drift struct {
	Missing, Differing []RRset
	// Unfit are RRsets that the provider refuses or cannot represent. Another delivery is no help.
	Unfit []RRset
	// Foreign are RRsets written by others, which stay.
	Foreign []RRset
	Servers []Server
}

func (d Drift) Empty() bool { return len(d.Missing)+len(d.Differing) == 0 }
