// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package house

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "kubi.zone/kubizone"

// row bounds the imports of a package or a subtree ("pkg/dns/..."). The most specific row of a package decides.
// Patterns that end in "/..." match the path and everything below. Test files are only bound by rule 2 of
// TestImports_nonTestCodeImportsNoTestCode.
type row struct {
	pkg   string
	may   []string // packages of this repository
	never []string // any package, reached directly or through others
	avoid []string // any package, imported directly
	calls []string // forbidden functions of the standard library: "time.Now"
	why   string
}

// table is the only home of the import rules.
var table = []row{
	{
		pkg: "pkg/dns/name", never: impure, avoid: blocking, calls: clock,
		why: "a name is a value; everything else is built from it",
	},
	{
		pkg: "pkg/dns/serial", never: impure, avoid: blocking, calls: clock,
		why: "RFC 1982 is arithmetic",
	},
	{
		pkg: "pkg/dns/rdata", may: []string{"pkg/dns/name"}, never: impure, avoid: blocking, calls: clock,
		why: "dns is what an RFC defines: a stranger could reuse it, so it knows neither Kubernetes nor the disk",
	},
	{
		pkg: "pkg/dns", may: []string{"pkg/dns/name", "pkg/dns/rdata",
			"pkg/dns/serial"}, never: impure, avoid: blocking, calls: clock,
		why: "the shared nouns live here so that a consumer can declare its interface without importing the supplier",
	},
	{
		pkg: "pkg/dns/mistakes", may: []string{"pkg/dns/name",
			"pkg/dns/rdata"}, never: impure, avoid: append([]string{miekg}, blocking...),
		calls: clock,
		why:   "the API server and kubectl kubizone lint report the same mistakes",
	},
	{
		pkg: "pkg/dns/zonefile", may: []string{"pkg/dns", "pkg/dns/name", "pkg/dns/rdata",
			"pkg/dns/serial"}, never: impure,
		avoid: blocking, calls: clock,
		why: "it reads and writes streams that others open",
	},
	{
		pkg: "pkg/zone/law/rules", may: []string{"pkg/dns/name", "pkg/dns/rdata", "pkg/apis/pattern"}, never: impure,
		avoid: append([]string{miekg}, blocking...), calls: clock,
		why: "what rules say of a name needs neither the zone nor what stands in it",
	},
	{
		pkg: "pkg/zone/law", may: []string{"pkg/dns/...", "pkg/zone/law/content", "pkg/apis/pattern",
			"pkg/zone/law/rules", "pkg/zone/law/sethash"},
		never: impure,
		avoid: append([]string{miekg}, blocking...), calls: clock,
		why: "the facts are the ground of the decisions, which stand above them",
	},
	{
		pkg: "pkg/zone/law/claims", may: []string{"pkg/dns/...", "pkg/zone/law", "pkg/zone/law/rules"}, never: impure,
		avoid: append([]string{miekg}, blocking...), calls: clock,
		why: "records and zones ask it which namespace has a name",
	},
	{
		pkg: "pkg/zone/law/records", may: []string{"pkg/dns/...", "pkg/zone/law", "pkg/zone/law/claims",
			"pkg/zone/law/content", "pkg/zone/law/rules",
			"pkg/zone/law/sethash"}, never: impure,
		avoid: append([]string{miekg}, blocking...), calls: clock,
		why: "a record knows its zone, and not how that comes or goes",
	},
	{
		pkg: "pkg/zone/law/...", may: []string{"pkg/apis/pattern", "pkg/dns/...", "pkg/zone/law/..."}, never: impure,
		avoid: append([]string{miekg}, blocking...), calls: clock,
		why: "a decision is a function of the facts it was given; what it cannot compute it asks for by returning Need",
	},
	{
		pkg: "api/...", may: []string{"api/..."}, never: []string{miekg, "k8s.io/apiserver/...", etcd},
		why: "a module of its own: what clients import, and a promise to them",
	},
	{
		pkg: "api/bind9/...", may: []string{}, never: []string{miekg, "k8s.io/apiserver/...",
			"k8s.io/client-go/...", etcd},
		why: "as those of zones: a fleet can be had without a zone",
	},
	{
		pkg: "api/kubizone/...", may: []string{}, never: []string{miekg, "k8s.io/apiserver/...",
			"k8s.io/client-go/...", etcd},
		why: "the types bring apimachinery alone into a program that does not need the clients",
	},
	{
		pkg: "pkg/apis/...", may: []string{"api/kubizone/...", "api/bind9/...", "pkg/apis/..."},
		never: []string{miekg, "k8s.io/apiserver/...", "k8s.io/client-go/...", etcd},
		why:   "rules of one object, for the server and for commands",
	},
	{
		pkg: "pkg/apis/pattern", may: []string{"pkg/dns/name"}, never: impure, avoid: append([]string{miekg}, blocking...), calls: clock,
		why: "a pattern is a predicate of names",
	},
	{
		pkg: "pkg/apis/kubizone/install", may: []string{"api/kubizone/...", "api/bind9/...", "pkg/apis/...",
			"pkg/dns/name"},
		never: []string{miekg, "k8s.io/apiserver/...", "k8s.io/client-go/...", etcd},
		why:   "a field selector has a name as a person types it",
	},
	{
		pkg: "pkg/apis/kubizone/validation", may: []string{"api/kubizone/...", "api/bind9/...", "pkg/apis/...",
			"pkg/dns/...",
			"pkg/apis/pattern", "pkg/apis/refusal"},
		never: []string{"k8s.io/client-go/...", etcd},
		why:   "validation sees one object: what needs another is the law's",
	},
	{
		pkg: "pkg/zone/lawform", may: []string{"api/kubizone/...", "pkg/apis/pattern", "pkg/dns/...",
			"pkg/zone/law/..."},
		never: []string{"k8s.io/client-go/...", "k8s.io/apiserver/...", etcd}, avoid: []string{miekg}, calls: clock,
		why: "what an object is to the law, the server and a plan of the client ask alike",
	},
	{
		pkg: "pkg/kit/traces", may: []string{}, never: impure, calls: clock,
		why: "the context of a span is text, whatever causes it and whoever continues it",
	},
	{
		pkg: "pkg/zone/ledger/layout", may: []string{"pkg/zone/law/...",
			"pkg/dns/..."}, never: []string{etcd, "k8s.io/apiserver/...",
			"k8s.io/client-go/..."}, avoid: blocking, calls: clock,
		why: "where a key stands and how a value is encoded is arithmetic on strings",
	},
	{
		pkg: "pkg/zone/ledger/etcd", may: []string{"pkg/zone/ledger/layout"}, avoid: []string{"k8s.io/...", miekg},
		why: "operations, ranges and watches are those of any key: what stands there is the other rooms'",
	},
	{
		pkg: "pkg/zone/ledger/objects", may: []string{"pkg/zone/lawform", "pkg/zone/law/...", "pkg/dns/...",
			"api/kubizone/...",
			"pkg/apis/kubizone/class"},
		never: []string{etcd}, avoid: []string{"k8s.io/client-go/...", miekg}, calls: clock,
		why: "what an object asks for is a function of the object",
	},
	{
		pkg: "pkg/zone/ledger/history", may: []string{"pkg/zone/ledger/etcd", "pkg/zone/ledger/layout",
			"pkg/zone/law/content", "pkg/zone/law/sethash",
			"pkg/dns/serial", "api/kubizone/..."}, avoid: []string{"k8s.io/client-go/...", miekg},
		why: "steps are archived beside the writes: no decision reads them, and their readers' rights are the registry's",
	},
	{
		pkg: "pkg/zone/ledger/journal", may: []string{"pkg/zone/ledger/etcd", "pkg/zone/ledger/history",
			"pkg/zone/ledger/layout", "pkg/zone/ledger/objects",
			"pkg/zone/law/...", "pkg/dns/...", "api/kubizone/..."}, avoid: []string{"k8s.io/client-go/...", miekg},
		why: "journals are trimmed beside the writes: nothing of a decision is looked at",
	},
	{
		pkg: "pkg/zone/ledger/facts", may: []string{"pkg/zone/lawform", "pkg/zone/ledger/etcd",
			"pkg/zone/ledger/layout", "pkg/zone/ledger/objects",
			"pkg/zone/law/...", "pkg/dns/...", "api/kubizone/..."}, avoid: []string{"k8s.io/client-go/...", miekg},
		why: "facts are read and proved for whichever decision asks",
	},
	{
		pkg: "pkg/zone/ledger/commit",
		may: []string{"pkg/zone/lawform", "pkg/zone/ledger/facts", "pkg/zone/ledger/history",
			"pkg/zone/ledger/journal", "pkg/zone/ledger/etcd",
			"pkg/zone/ledger/layout", "pkg/zone/ledger/objects", "pkg/zone/ledger/subrev",
			"pkg/zone/law/...", "pkg/dns/...", "api/kubizone/...", "pkg/apis/refusal", "pkg/kit/traces"},
		avoid: []string{"k8s.io/client-go/...", miekg},
		why:   "clients, cascades and moves commit in one way, so it knows none of them",
	},
	{
		pkg: "pkg/zone/ledger/outbox",
		may: []string{"pkg/zone/lawform", "pkg/zone/ledger/commit", "pkg/zone/ledger/facts",
			"pkg/zone/ledger/history", "pkg/zone/ledger/journal",
			"pkg/zone/ledger/etcd",
			"pkg/zone/ledger/layout", "pkg/zone/ledger/objects", "pkg/zone/law/...", "pkg/dns/...",
			"api/kubizone/...", "pkg/kit/traces"},
		avoid: []string{"k8s.io/client-go/...", miekg},
		why:   "a cascade changes objects by writes like a client's, and touches no storage of the API and no migration",
	},
	{
		pkg: "pkg/zone/ledger/...", may: []string{"pkg/zone/lawform", "pkg/zone/ledger/...", "pkg/zone/law/...",
			"pkg/dns/...", "api/kubizone/...",
			"pkg/apis/refusal", "pkg/kit/terminal"},
		avoid: []string{"k8s.io/client-go/...", miekg},
		why:   "it carries out plans in etcd and owes nothing to who asks or who reads",
	},
	{
		pkg: "pkg/apis/precedence", never: impure, avoid: blocking, calls: clock,
		why: "which claimant has a name is a function of the claims: primaries, controllers and the loop must answer alike",
	},
	{
		pkg: "pkg/kit/terminal", never: impure, avoid: blocking, calls: clock,
		why: "a text is escaped alike whatever it is about and wherever it goes",
	},
	{
		pkg: "pkg/kit/topten", never: impure, avoid: blocking, calls: clock,
		why: "the keys depend on the values, whatever a metric counts",
	},
	{
		pkg: "pkg/kit/slots", never: impure,
		why: "how many there may be at once is its servers' choice, and so is what has a slot",
	},
	{
		pkg: "pkg/apis/refusal", avoid: append(slices.Clone(blocking), etcd, miekg), calls: clock,
		why: "the parts of a refusal are the same for every server that writes and every client that reads it",
	},
	{
		pkg: "pkg/kit/samples", never: []string{etcd, "k8s.io/apiserver/...", "k8s.io/client-go/..."}, calls: clock,
		why: "how metrics are registered is the same for all that count",
	},
	{
		pkg: "pkg/kit/inprocess", never: impure,
		why: "a request is sent to a handler of this process, whatever it is about",
	},
	{
		pkg: "pkg/kit/memory", never: impure,
		why: "it reads from a file how much memory there is; its callers decide what it is for",
	},
	{
		pkg: "pkg/zone/zoneview", may: []string{"pkg/zone/law/content", "pkg/zone/law/sethash",
			"pkg/dns/..."}, never: impure, avoid: blocking,
		why: "entries, transfers and delivery share this view, so it must be testable without a watch",
	},
	{
		pkg: "pkg/delivery/secrets", may: []string{"api/kubizone/...", "pkg/delivery", "pkg/dns/tsig"},
		never: []string{"k8s.io/apiserver/...", etcd}, avoid: []string{miekg, "k8s.io/client-go/kubernetes"},
		why: "controllers, primaries and commands read Secrets through one package",
	},
	{
		pkg: "pkg/apiserver/registry/...", may: []string{"pkg/apiserver/registry/...", "api/kubizone/...",
			"api/bind9/...", "pkg/apis/...",
			"pkg/zone/law/...", "pkg/dns/...", "pkg/kit/inprocess", "pkg/apis/objectname", "pkg/apis/refusal",
			"pkg/apis/rrsets", "pkg/kit/terminal", "pkg/dns/update"},
		avoid: []string{etcd, miekg},
		why:   "the door declares the interfaces it needs and apiserver plugs them: it never imports the warehouse",
	},
	{
		pkg: "pkg/apis/objectname", may: []string{"pkg/dns/..."}, never: impure,
		why: "the name that a program gives an object is a function of what that is",
	},
	{
		pkg: "pkg/dns/update", may: []string{"pkg/dns/..."}, never: impure,
		avoid: []string{miekg},
		why:   "what a message means is a function of its octets and of what stands there: a primary and the API server ask it",
	},
	{
		pkg: "pkg/dns/update/wire", may: []string{"pkg/dns/update", "pkg/dns/..."}, never: impure,
		why: "octets of the network are read where they come in, and not in the API server",
	},
	{
		pkg: "pkg/primary/replay", never: impure,
		why: "what is remembered of messages follows from their signatures and the clock",
	},
	{
		pkg: "pkg/dns/tsig", never: impure,
		why: "each client and server that signs messages has the same keys, and needs no primary for it",
	},
	{
		pkg: "pkg/primary/updates", may: []string{"pkg/primary/replay", "pkg/dns/tsig", "pkg/kit/slots",
			"pkg/dns/update/...",
			"pkg/zone/law/content", "pkg/dns/..."},
		never: []string{"k8s.io/apimachinery/...", "k8s.io/apiserver/...", "k8s.io/client-go/...", etcd},
		why:   "a message waits in the primary, wherever the API server is",
	},
	{
		pkg: "pkg/primary", may: []string{"pkg/zone/zoneview", "pkg/dns/...", "pkg/zone/law/content",
			"pkg/apis/precedence", "pkg/kit/slots",
			"pkg/kit/traces", "pkg/dns/update", "pkg/primary/..."},
		never: []string{"k8s.io/apimachinery/...", "k8s.io/apiserver/...", "k8s.io/client-go/...", etcd},
		why:   "a DNS server over views: it can run far from the API server",
	},
	{
		pkg: "pkg/zone/etcd/...", may: []string{"pkg/apis/alarm"}, avoid: []string{"k8s.io/client-go/...", miekg},
		why: "an etcd is run and cared for whatever stands in it: neither the ledger nor the API server is known here",
	},
	{
		pkg: "pkg/kit/pki", avoid: []string{"k8s.io/apiserver/...", etcd, miekg},
		why: "certificates are made for a server, its administrator and its peers alike, and no server is known here",
	},
	{
		pkg: "pkg/apiserver/...", may: []string{"pkg/apiserver/...", "pkg/kit/heartbeat", "pkg/delivery",
			"pkg/delivery/objects",
			"pkg/zone/etcd/maintenance", "pkg/kit/pki", "pkg/apiserver/registry/...",
			"pkg/zone/ledger/...", "api/...", "pkg/apis/...", "pkg/apis/...", "pkg/zone/law/...", "pkg/dns/...",
			"pkg/zone/zoneview/...",
			"pkg/apiserver/authorization", "pkg/apiserver/admission/...", "pkg/kit/inprocess", "pkg/apis/refusal",
			"pkg/kit/samples", "pkg/kit/topten", "pkg/kit/version"},
		avoid: []string{miekg},
		why:   "wiring of registry and ledger into the generic server; who serves or delivers the zones is not its business",
	},
	{
		pkg: "pkg/delivery/objects", may: []string{"pkg/delivery", "pkg/apis/kubizone/class", "pkg/dns/...", "api/..."},
		avoid: []string{etcd, miekg},
		why:   "the controller writes Deliveries, and the server judges by them: both know their form, and neither the other",
	},
	{
		pkg: "pkg/kit/heartbeat", may: []string{}, avoid: []string{etcd, miekg},
		why: "every process tells of itself, whatever its work is",
	},
	{
		pkg: "pkg/kit/version", never: impure, avoid: blocking, calls: clock,
		why: "what a program is, for everything that says it",
	},
	{
		pkg: "pkg/apiserver/authorization", may: []string{"pkg/kit/version"}, avoid: []string{etcd, miekg},
		why: "it asks the kube-apiserver who may do what, and knows nothing of zones",
	},
	{
		pkg: "pkg/apiserver/admission/...", may: []string{"api/kubizone/...",
			"pkg/kit/traces"}, avoid: []string{etcd, miekg},
		why: "a plugin declares what it needs to know and apiserver plugs it: like the registry it never imports the warehouse",
	},
	{
		pkg: "pkg/apiserver/backup", may: []string{"pkg/apiserver", "pkg/kit/version", "pkg/zone/etcd/...",
			"pkg/zone/ledger/...", "pkg/zone/law",
			"pkg/dns/serial", "api/kubizone/..."}, avoid: []string{miekg},
		why: "a store as a file, and what is done to one while no server runs on it: what stands in it the server and the ledger say",
	},
	{
		pkg: "pkg/delivery", may: []string{"pkg/dns/..."}, never: impure, avoid: append([]string{miekg}, blocking...), calls: clock,
		why: "the contract of providers and the words of a delivery: neither where zones come from nor what acts on them",
	},
	{
		pkg: "pkg/delivery/decision", may: []string{"pkg/delivery", "pkg/dns/..."}, never: impure,
		avoid: []string{"context", "sync/...", "math/rand/...", "os/...", "net/...", miekg}, calls: clock,
		why: "a decision is a function of the facts it was given: what is asked, and when, an attempt knows",
	},
	{
		pkg: "pkg/delivery/lease", may: []string{"pkg/delivery", "pkg/delivery/decision"}, never: impure,
		avoid: append([]string{miekg}, blocking...),
		why:   "whether a worker may write is told by the store, whatever it writes and whichever provider takes it",
	},
	{
		pkg: "pkg/delivery/plan", may: []string{"pkg/delivery", "pkg/zone/zoneview", "pkg/dns/..."},
		never: impure, avoid: append([]string{miekg}, blocking...), calls: clock,
		why: "what leads from a state to a zone is read there and in its history: when it is carried out others say",
	},
	{
		pkg: "pkg/delivery/schedule", may: []string{"pkg/delivery", "pkg/delivery/decision", "pkg/delivery/lease",
			"pkg/delivery/plan", "pkg/zone/zoneview", "pkg/dns/...", "pkg/apis/precedence", "pkg/kit/traces"},
		never: impure, avoid: []string{miekg},
		why: "classes come in as values and statuses go out through an interface: it can run far from any cluster",
	},
	{
		pkg: "pkg/delivery/...", may: []string{"pkg/delivery", "pkg/delivery/dial", "pkg/dns/..."},
		avoid: []string{"k8s.io/...", "sigs.k8s.io/...", etcd},
		why:   "a provider knows its peer and the contract: neither the loop's other providers nor where zones come from",
	},
	{
		pkg: "pkg/delivery/webhook/...", may: []string{"pkg/delivery", "pkg/delivery/dial",
			"pkg/delivery/webhook/...", "pkg/dns/...",
			"pkg/kit/traces"},
		avoid: []string{"k8s.io/...", "sigs.k8s.io/...", etcd, miekg},
		why:   "client and server share the words of the protocol and nothing else",
	},
	{
		pkg: "pkg/delivery/transfer", may: []string{"pkg/delivery", "pkg/delivery/dial", "pkg/dns/transfer",
			"pkg/dns/..."},
		avoid: []string{"k8s.io/...", "sigs.k8s.io/...", etcd},
		why:   "it asks secondaries; what serves them it declares",
	},
	{
		pkg: "pkg/bind9/provider", may: []string{"pkg/delivery", "pkg/delivery/dial", "pkg/delivery/rfc2136",
			"pkg/delivery/transfer",
			"pkg/bind9/agent/client", "pkg/bind9/agent/protocol", "pkg/dns/transfer", "pkg/dns/..."},
		avoid: []string{"k8s.io/...", "sigs.k8s.io/...", etcd, miekg},
		why:   "its members are secondaries, which transfer shows zones to and asks; what makes zones there is an agent",
	},
	{
		pkg: "pkg/client/verify", may: []string{"api/...", "pkg/apis/kubizone/class", "pkg/client/load",
			"pkg/dns/...", "pkg/zone/lawform"},
		never: []string{"k8s.io/apiserver/...", etcd}, calls: printing,
		why: "it asks servers like a stranger, and the API as its user: a provider is handed in",
	},
	{
		pkg: "pkg/delivery/rfc2136", may: []string{"pkg/delivery", "pkg/delivery/dial", "pkg/dns/transfer",
			"pkg/dns/..."},
		avoid: []string{"k8s.io/...", "sigs.k8s.io/...", etcd},
		why:   "it compares by transfer what it writes by update",
	},
	{
		pkg: "cmd/webhook-server", may: []string{"pkg/delivery/webhook/protocol", "pkg/dns/tsig",
			"cmd/webhook-server/...",
			"pkg/dns/transfer",
			"pkg/kit/slots", "pkg/kit/terminal", "pkg/dns/..."},
		avoid: impure, calls: printing,
		why: "a program of its own, that nothing of the product imports; a file of keys is read as a primary reads it",
	},
	{
		pkg: "cmd/webhook-server/...", may: []string{"pkg/delivery/webhook/protocol",
			"pkg/client/externaldns/contract", "cmd/webhook-server/...",
			"pkg/dns/transfer", "pkg/kit/slots", "pkg/dns/..."}, never: impure,
		why: "the other half of the protocol, as other projects would write it: no secret way to the client",
	},
	{
		pkg: "pkg/bind9/agent", may: []string{"pkg/bind9/agent/...", "pkg/dns/transfer", "pkg/dns/..."}, never: impure,
		why: "a server beside each named, in a small program: it knows BIND and HTTP, and of Kubernetes one request",
	},
	{
		pkg: "pkg/bind9/agent/client", may: []string{"pkg/bind9/agent/protocol", "pkg/dns/name", "pkg/kit/traces"},
		never: append([]string{miekg}, impure...),
		why:   "the fleet and the provider drive agents: it knows the API, and neither classes nor what a zone contains",
	},
	{
		pkg: "pkg/bind9/agent/protocol", may: []string{}, never: impure, avoid: blocking, calls: clock,
		why: "agent, client and the double of bindcar share the form of bodies and nothing else",
	},
	{
		pkg: "pkg/bind9/agent/rndc", may: []string{}, never: append([]string{miekg}, impure...),
		why: "the control channel of BIND is a protocol of its own: it carries text, whatever it says",
	},
	{
		pkg: "pkg/delivery/controller/...", may: []string{"pkg/delivery/controller/...", "pkg/delivery",
			"pkg/delivery/lease", "pkg/delivery/plan",
			"pkg/delivery/objects", "pkg/delivery/schedule",
			"pkg/zone/lawform", "pkg/zone/zoneview/...", "api/...", "pkg/apis/...", "pkg/dns/...",
			"pkg/kit/samples", "pkg/delivery/secrets"},
		avoid: []string{etcd, miekg},
		why:   "it turns objects into running deliveries and back; which providers there are, cmd/provider says",
	}, {
		pkg: "pkg/bind9/signing", may: []string{"pkg/delivery/controller/...", "pkg/bind9/agents",
			"pkg/bind9/agent/client", "pkg/kit/topten",
			"pkg/bind9/agent/protocol", "pkg/delivery/dial", "pkg/delivery/transfer", "pkg/zone/zoneview",
			"api/...", "pkg/apis/kubizone/class",
			"pkg/dns/...", "pkg/kit/samples", "pkg/delivery/secrets"},
		avoid: []string{etcd, miekg},
		why:   "it drives a signer by its agent and asks servers by DNS: what a zone contains it reads, and never writes",
	}, {
		pkg: "pkg/bind9/agents", may: []string{"pkg/bind9/agent/client", "pkg/delivery", "pkg/delivery/dial",
			"pkg/apis/kubizone/class", "pkg/kit/samples", "pkg/delivery/secrets", "pkg/kit/topten"},
		avoid: []string{etcd, miekg},
		why:   "it sends requests with what Secrets have: which requests, the provider and signing say",
	}, {
		pkg: "pkg/delivery/controller/updatekey", may: []string{"pkg/delivery/controller/transferclass",
			"pkg/delivery", "pkg/apis/precedence",
			"pkg/primary/...", "pkg/delivery/secrets", "pkg/zone/law/content", "pkg/zone/law/rules", "api/...",
			"pkg/dns/..."},
		why: "which keys may send updates is the same at every primary",
	},
	{
		pkg: "pkg/delivery/controller/transferclass", may: []string{"pkg/delivery/...", "pkg/primary/...",
			"pkg/delivery/secrets", "pkg/dns/transfer",
			"pkg/zone/zoneview/...", "api/...", "pkg/apis/kubizone/class", "pkg/dns/...", "pkg/apis/precedence"},
		why: "which zones a class shows is the same at every primary, with or without a loop beside it, so it is decided where " +
			"both can reach it",
	},

	{
		pkg: "pkg/bind9/fleet/render", may: []string{"api/bind9/...", "pkg/apis/kubizone/class", "pkg/dns/name"},
		never: []string{etcd, "k8s.io/apiserver/..."}, avoid: blocking, calls: clock,
		why: "what a server consists of is a function of what is said of it: it is compared with golden files, and BIND's own " +
			"program reads it",
	},
	{
		pkg: "pkg/bind9/fleet", may: []string{"api/...", "pkg/apis/kubizone/class", "pkg/bind9/fleet/render",
			"pkg/bind9/agent/protocol",
			"pkg/dns/name", "pkg/kit/pki"}, never: []string{etcd, "k8s.io/apiserver/..."}, avoid: []string{miekg},
		why: "it makes objects of the cluster of objects of ours: how a zone reaches a server is the deliveries'",
	},
	{
		pkg: "pkg/zone/zoneview/feed", may: []string{"pkg/zone/zoneview",
			"pkg/zone/law/content"}, avoid: []string{etcd, miekg}, calls: clock,
		why: "how a zone is proven and frozen is the same whatever it is read from",
	},
	{
		pkg: "pkg/zone/zoneview/definition", may: []string{"pkg/zone/zoneview", "pkg/zone/law/content",
			"pkg/zone/law/sethash", "pkg/dns/...",
			"api/kubizone/..."},
		never: []string{"k8s.io/apiserver/...",
			"k8s.io/component-base/...", etcd}, avoid: []string{"k8s.io/client-go/tools/cache", miekg},
		why: "an answer is read alike by the views of a process and by commands, which watch nothing",
	},
	{
		pkg: "pkg/zone/zoneview/feed/fromapi", may: []string{"pkg/zone/zoneview", "pkg/zone/zoneview/definition",
			"pkg/zone/zoneview/feed",
			"pkg/zone/law/content", "pkg/dns/serial", "api/..."},
		avoid: []string{etcd, miekg},
		why:   "the one room of the views that knows the API: what it feeds stays testable without one",
	},
	{
		pkg: "pkg/zone/zoneview/feed/fromjournal", may: []string{"pkg/zone/zoneview", "pkg/zone/zoneview/feed",
			"pkg/zone/law/content", "pkg/zone/ledger"},
		avoid: []string{etcd, miekg},
		why:   "the one room of the views that knows the ledger: an API server's views follow the journal beside its writes",
	},
	{
		pkg: "pkg/dns/transfer", may: []string{"pkg/dns/..."}, never: impure,
		why: "zones come in over DNS from anybody: it knows the protocol and nothing of us",
	},
	{
		pkg: "pkg/apis/rrsets", may: []string{"api/...",
			"pkg/apis/refusal"}, never: []string{"k8s.io/apiserver/...", etcd, miekg},
		why: "every writer of Records sends its changes in one way: where they come from is not known here",
	},
	{
		pkg: "pkg/client/load", may: []string{"api/...", "pkg/dns/...", "pkg/apis/objectname", "pkg/apis/refusal",
			"pkg/apis/rrsets"},
		never: []string{"k8s.io/apiserver/...", etcd}, avoid: []string{miekg},
		why: "files come in through the API like any client's: what a user would be refused, a file is refused",
	},
	{
		pkg: "pkg/client/find", may: []string{"api/...", "pkg/dns/name", "pkg/apis/pattern", "pkg/zone/law/rules",
			"pkg/client/load"},
		never: []string{"k8s.io/apiserver/...", etcd}, avoid: []string{miekg},
		why: "a search reads through the API with the rights of its user",
	},
	{
		pkg: "pkg/client/cluster", may: []string{}, never: []string{"k8s.io/apiserver/...", etcd},
		avoid: []string{miekg, "k8s.io/client-go/kubernetes"},
		why:   "the client has templates, beside which the linker keeps every method: it has few groups",
	},
	{
		pkg: "pkg/client/overview", may: []string{"api/...", "pkg/apis/acme", "pkg/apis/kubizone/class",
			"pkg/client/cluster",
			"pkg/client/find", "pkg/client/history", "pkg/client/load", "pkg/kit/terminal"},
		never: []string{"k8s.io/apiserver/...", etcd}, avoid: []string{miekg, "k8s.io/client-go/kubernetes"}, calls: printing,
		why: "status, doctor and the console show one state of a zone",
	},
	{
		pkg: "pkg/client/plan", may: []string{"api/...", "pkg/apis/kubizone/class", "pkg/client/load",
			"pkg/dns/...", "pkg/zone/law/content",
			"pkg/zone/law/sethash", "pkg/zone/lawform", "pkg/zone/zoneview", "pkg/zone/zoneview/definition"},
		never: []string{"k8s.io/apiserver/...", etcd}, avoid: []string{miekg}, calls: printing,
		why: "plan, review and the console show one plan",
	},
	{
		pkg: "pkg/client/lint", may: []string{"api/...", "pkg/apis/...", "pkg/client/load", "pkg/dns/...",
			"pkg/zone/law/...", "pkg/zone/lawform"},
		never: []string{etcd}, avoid: []string{miekg}, calls: printing,
		why: "objects are judged without a server, by the packages that a server judges them by",
	},
	{
		pkg: "pkg/client/history", may: []string{"api/...", "pkg/zone/lawform", "pkg/dns/...",
			"pkg/zone/law/content", "pkg/client/load",
			"pkg/apis/refusal", "pkg/apis/rrsets",
			"pkg/zone/zoneview/definition"},
		never: []string{"k8s.io/apiserver/...", etcd}, avoid: []string{miekg}, calls: printing,
		why: "the past is read and taken back with the rights of its user, through the writes that every client has",
	},
	{
		pkg: "pkg/apis/reasons", may: []string{"docs"}, never: impure, avoid: blocking, calls: clock,
		why: "what a reason means is written on one page, for commands and links alike",
	},
	{
		pkg: "pkg/client/why", may: []string{"api/...", "pkg/apis/kubizone/class", "pkg/dns/...",
			"pkg/client/find", "pkg/client/history", "pkg/apis/reasons",
			"pkg/dns/transfer", "pkg/client/verify"},
		never: []string{"k8s.io/apiserver/...", etcd}, avoid: []string{miekg}, calls: printing,
		why: "a chain is drawn by others, too: it prints nothing, and asks only by the clients that it is given",
	},
	{
		pkg: "pkg/client/externaldns/contract", may: []string{"pkg/dns/..."}, never: impure, calls: clock,
		why: "what external-dns and its webhook providers say to each other: Records and servers are not known here",
	},
	{
		pkg: "pkg/client/externaldns", may: []string{"api/kubizone/...", "pkg/dns/...",
			"pkg/client/externaldns/contract", "pkg/apis/objectname"},
		never: []string{"k8s.io/apiserver/...",
			"k8s.io/client-go/...", etcd}, avoid: append([]string{miekg}, blocking...), calls: clock,
		why: "what an endpoint is as a Record, and which of two objects has a name, is a function of what stands and of verdicts",
	},
	{
		pkg: "pkg/client/migrate", may: []string{"api/kubizone/...", "pkg/dns/...", "pkg/client/externaldns/...",
			"pkg/apis/objectname"},
		never: []string{"k8s.io/apiserver/...",
			"k8s.io/client-go/...", etcd}, avoid: append([]string{miekg}, blocking...), calls: clock,
		why: "what an object of another operator becomes is a function of the objects: neither a server nor a file is known here",
	},
	{
		pkg: "pkg/apis/openapi/...", may: []string{"api/kubizone/...", "api/bind9/...",
			"pkg/apis/acme"}, avoid: []string{etcd, miekg},
		why: "machine-written from the types",
	},
	{
		pkg: "pkg/...", may: []string{},
		why: "the page of a house has no code",
	},
	{
		pkg: "docs", may: []string{}, never: heavy,
		why: "pages beside their text: they are the same for all programs",
	},
	{
		pkg: "cmd/...", may: []string{"api/...", "cmd/...", "docs",
			"pkg/..."}, avoid: []string{clientv3, miekg}, calls: printing,
		why: "options, configuration, Run: the one place that knows every house",
	},
	ofClient("cmd/kubectl-kubizone/doctor"), ofClient("cmd/kubectl-kubizone/updatekey"),
	{
		pkg: "cmd/bind-agent/bindagent", may: []string{"pkg/bind9/agent/...", "pkg/dns/tsig", "pkg/kit/slots",
			"pkg/kit/terminal", "pkg/dns/transfer",
			"pkg/kit/version"},
		never: heavy, calls: printing,
		why: "a small program has this command alone; a file of keys is read as a primary reads it",
	},
	{
		pkg: "cmd/bind-agent", may: []string{"cmd/bind-agent/bindagent"}, never: heavy,
		why: "main names the command: the program stands beside each named, so it has neither Kubernetes' clients nor etcd",
	},
	{
		pkg: "cmd/kubectl-kubizone", may: []string{"cmd/kubectl-kubizone/client"},
		never: []string{etcd, "k8s.io/apiserver/pkg/server/...", module + "/pkg/zone/ledger/...", module + "/pkg/apiserver/...",
			module + "/pkg/delivery/controller/...", module + "/pkg/primary", module + "/pkg/primary/updates", module + "/pkg/primary/replay",
			module + "/pkg/delivery/schedule", module + "/pkg/delivery/lease", module + "/pkg/delivery/transfer",
			module + "/pkg/bind9/provider", module + "/pkg/bind9/agents", module + "/cmd/kubizone/...",
			"k8s.io/client-go/kubernetes", "k8s.io/client-go/informers/...", "k8s.io/client-go/tools/cache",
			"k8s.io/component-base/..."},
		why: "a person downloads the client: it asks a server, and is none",
	},
	{
		pkg: "cmd/kubizone", may: []string{"cmd/kubizone/app"},
		why: "main names the program and nothing else: package main can be neither imported nor tested",
	},
	{
		pkg: "hack/sbom", may: []string{}, avoid: []string{etcd, miekg},
		why: "it reads programs, and is part of none",
	},
	{
		pkg: "hack/schemas", may: []string{"api/...", "pkg/apis/openapi", "cmd/kubectl-kubizone/client", "cmd/output"},
		avoid: []string{etcd, miekg},
		why:   "it writes down what the API server serves as OpenAPI, and asks no server",
	},
	{
		pkg: "test/rig", avoid: impure,
		why: "a test that needs only DNS servers links neither Kubernetes' clients nor etcd: test/rig/kuberig does",
	},
	{
		pkg: "test/...", may: []string{"api/...", "cmd/...", "pkg/...", "test/..."},
		why: "tests may know everything, nothing may know them",
	},
}

// A house is a folder of pkg/, for one kind of program. Its doc.go names its users and its guarantees.
type house struct {
	name string
	// never lists the houses, or parts of one, that no package of this house depends on, directly or through others.
	never []string
	why   string
}

// houses are all folders of pkg/, each below those that may import it. cmd/ puts them together into programs.
var houses = []house{
	{
		name: "kit", never: []string{"dns", "apis", "zone", "primary", "apiserver", "delivery", "bind9", "client"},
		why: "a part of any program, with zones or without",
	},
	{
		name: "dns", never: []string{"kit", "apis", "zone", "primary", "apiserver", "delivery", "bind9", "client"},
		why: "what an RFC defines, as a stranger could reuse it",
	},
	{
		name: "apis", never: []string{"zone", "primary", "apiserver", "delivery", "bind9", "client"},
		why: "the vocabulary of the API, the same for its servers and its clients",
	},
	{
		name: "zone", never: []string{"primary", "apiserver", "delivery", "bind9", "client"},
		why: "law, ledger and views know no client, provider or name server",
	},
	{
		name: "primary", never: []string{"zone/ledger", "zone/etcd", "apiserver", "delivery", "bind9", "client"},
		why: "it serves views, wherever they come from: it can run far from the store",
	},
	{
		name: "apiserver", never: []string{"primary", "delivery/controller", "delivery/schedule", "bind9", "client"},
		why: "it knows the form of a Delivery, and nobody that delivers",
	},
	{
		name: "delivery", never: []string{"zone/ledger", "zone/etcd", "apiserver", "bind9", "client"},
		why: "it ends at the Delivery, an object of the API like any other",
	},
	{
		name: "bind9", never: []string{"zone/ledger", "zone/etcd", "apiserver", "client"},
		why: "one kind of name server among others",
	},
	{
		name: "client", never: []string{"zone/ledger", "zone/etcd", "primary", "apiserver", "delivery", "bind9"},
		why: "a person's questions go through the API alone",
	},
}

func TestHouses_keepTheirBorders(t *testing.T) {
	lived := map[string]bool{}
	for _, p := range listPackages(t) {
		_, below, ok := strings.Cut(p.trimModule(), "pkg/")
		if !ok || !matchesPattern("pkg/...", p.trimModule()) {
			continue
		}
		name, _, _ := strings.Cut(below, "/")
		at := slices.IndexFunc(houses, func(h house) bool { return h.name == name })
		if at < 0 {
			t.Errorf("%s is in no house: pkg/ has %d folders, and a new package belongs into one of them", p.trimModule(), len(houses))
			continue
		}
		lived[name] = true
		for _, dep := range p.Deps {
			local, _ := strings.CutPrefix(dep, module+"/pkg/")
			for _, never := range houses[at].never {
				if matchesPattern(never+"/...", local) {
					t.Errorf("%s depends on %s, directly or not: %s never does (%s)", p.trimModule(), local, name, houses[at].why)
				}
			}
		}
	}
	for _, p := range listPackages(t) {
		name, below, _ := strings.Cut(strings.TrimPrefix(p.trimModule(), "pkg/"), "/")
		first, _, _ := strings.Cut(below, "/")
		word := regexp.MustCompile(`\b` + first + `\b`)
		if matchesPattern("pkg/...", p.trimModule()) && !word.MatchString(readFile(t, "pkg/"+name+"/doc.go")) {
			t.Errorf("pkg/%s/doc.go names %s nowhere: a line for each package", name, first)
		}
	}
	for _, h := range houses {
		if !lived[h.name] {
			t.Errorf("pkg/%s is gone: remove its row", h.name)
		}
	}
}

// ofClient is the row of a package of the client that asks Kubernetes' own groups.
func ofClient(pkg string) row {
	return row{pkg: pkg, may: []string{"api/...", "cmd/...", "docs", "pkg/..."}, avoid: []string{clientv3, miekg, "k8s.io/client-go/kubernetes"},
		calls: printing, why: "the client has templates, beside which the linker keeps every method: pkg/client/cluster has few groups"}
}

const (
	miekg    = "github.com/miekg/dns"
	etcd     = "go.etcd.io/etcd/..."
	clientv3 = "go.etcd.io/etcd/client/v3/..."
)

var (
	heavy    = []string{"k8s.io/apimachinery/...", "k8s.io/apiserver/...", "k8s.io/client-go/...", "k8s.io/component-base/...", etcd}
	impure   = []string{"k8s.io/...", "sigs.k8s.io/...", etcd}
	blocking = []string{"os", "os/exec", "net", "net/http", "database/sql"}
	clock    = []string{"time.Now", "time.Since", "time.Sleep", "time.After", "time.NewTimer", "time.NewTicker", "time.Tick"}
	printing = []string{"fmt.Fprint", "fmt.Fprintf", "fmt.Fprintln", "fmt.Print", "fmt.Printf", "fmt.Println"}
)

// confined lists external packages that only these rooms may import, apart from tests.
var confined = []struct {
	what  string
	rooms []string
	why   string
}{
	{miekg, []string{"pkg/primary/...", "pkg/dns/transfer", "pkg/dns/tsig", "pkg/delivery/rfc2136", "pkg/delivery/transfer", "cmd/webhook-server/rfc2136",
		"pkg/client/verify", "pkg/bind9/agent", "pkg/dns/update/wire", "test/..."},
		"its successor lives elsewhere already: the choice must be changeable in few rooms"},
	{clientv3, []string{"pkg/zone/ledger/...", "pkg/zone/etcd/...", "pkg/apiserver/...", "pkg/apiserver/backup", "test/..."},
		"every internal key has one owner"},
	{"github.com/prometheus/client_golang/...", []string{"pkg/apiserver", "cmd/kubizone/process"}, "metrics are made by " +
		"component-base, which the flags of an API server apply to; what serves them needs more"},
	{"k8s.io/component-base/metrics/...", []string{"pkg/apiserver", "pkg/apiserver/budget", "pkg/apiserver/judge", "pkg/bind9/agents",
		"pkg/bind9/signing",
		"pkg/zone/etcd/maintenance", "pkg/delivery/controller/class", "cmd/kubizone/apiserver",
		"cmd/kubizone/dnsserving", "cmd/kubizone/fleet", "cmd/kubizone/process",
		"pkg/kit/samples", "pkg/zone/zoneview/feed/fromapi"},
		"test/metrics lists what is counted: a package with metrics gets a NewMetrics, its row in test/metrics/metrics_test.go, " +
			"and its place here"},
	{"go.etcd.io/etcd/server/v3/...", []string{"pkg/zone/etcd/embed", "test/..."}, "that etcd is embedded, and how, is one decision"},
}

type listed struct {
	Dir, ImportPath    string
	Imports, Deps      []string
	GoFiles            []string
	TestGoFiles        []string
	XTestGoFiles       []string
	TestImports        []string
	XTestImports       []string
	IgnoredGoFiles     []string
	DepsErrors, Module json.RawMessage
	Error              *struct{ Err string }
}

// trimModule returns "." for the root.
func (p *listed) trimModule() string {
	if p.ImportPath == module {
		return "."
	}
	return strings.TrimPrefix(p.ImportPath, module+"/")
}

var packages = sync.OnceValues(func() ([]*listed, error) {
	cmd := exec.Command("go", "list", "-e",
		"-json=Dir,ImportPath,Imports,Deps,GoFiles,TestGoFiles,XTestGoFiles,TestImports,XTestImports,Error",
		"./...", "./api/...")
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, errors.New(err.Error() + ": " + stderr.String())
	}
	var all []*listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		p := new(listed)
		if err := d.Decode(p); err == io.EOF {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		if len(p.GoFiles)+len(p.TestGoFiles)+len(p.XTestGoFiles) > 0 {
			all = append(all, p)
		}
	}
})

func listPackages(t *testing.T) []*listed {
	t.Helper()
	all, err := packages()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	return all
}

// matchesPattern reports whether the path is the pattern or, for "x/...", is at or below x.
func matchesPattern(pattern, p string) bool {
	if tree, ok := strings.CutSuffix(pattern, "/..."); ok {
		return p == tree || strings.HasPrefix(p, tree+"/")
	}
	return p == pattern
}

func anyMatches(patterns []string, p string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return matchesPattern(pattern, p) })
}

// rowOf returns the most specific row: an exact match before the longest tree.
func rowOf(p string) *row {
	var best *row
	for i := range table {
		r := &table[i]
		if !matchesPattern(r.pkg, p) {
			continue
		}
		if best == nil || r.pkg == p || best.pkg != p && len(r.pkg) > len(best.pkg) {
			best = r
		}
	}
	return best
}

func TestImports_followTheTable(t *testing.T) {
	for _, p := range listPackages(t) {
		r := rowOf(p.trimModule())
		if r == nil {
			t.Errorf("%s has no row: give it one, with the reason, in test/house/imports_test.go", p.trimModule())
			continue
		}
		for _, imported := range p.Imports {
			if local, ok := strings.CutPrefix(imported, module+"/"); ok && !anyMatches(r.may, local) {
				t.Errorf("%s imports %s, its row allows %v (%s)", p.trimModule(), local, r.may, r.why)
			}
			if anyMatches(r.avoid, imported) {
				t.Errorf("%s imports %s (%s)", p.trimModule(), imported, r.why)
			}
			if imported == "C" {
				t.Errorf("%s uses cgo: the binary is static", p.trimModule())
			}
		}
		for _, dep := range p.Deps {
			if anyMatches(r.never, dep) {
				t.Errorf("%s depends on %s, directly or not (%s)", p.trimModule(), dep, r.why)
			}
		}
	}
}

// estates are the programs and packages outside the core, which works without them; the programs combine both.
var estates = []string{"pkg/bind9/...", "pkg/client/migrate", "cmd/webhook-server/..."}

func TestImports_coreKnowsNoEstate(t *testing.T) {
	for _, p := range listPackages(t) {
		if anyMatches(slices.Concat(estates, []string{"cmd/...", "hack/schemas", "test/..."}), p.trimModule()) {
			continue
		}
		for _, dep := range p.Deps {
			if local, ok := strings.CutPrefix(dep, module+"/"); ok && anyMatches(estates, local) {
				t.Errorf("%s depends on %s, directly or not: the core works without it, so a program puts the two together", p.trimModule(),
					local)
			}
		}
	}
}

func TestImports_callsAreAsTheTableSays(t *testing.T) {
	instead := map[string]string{"time": "time is a fact that is handed in", "fmt": "terminal.Fprintf prints and escapes"}
	for _, p := range listPackages(t) {
		r := rowOf(p.trimModule())
		if r == nil || len(r.calls) == 0 {
			continue
		}
		for _, file := range p.GoFiles {
			full := filepath.Join(p.Dir, file)
			tree, err := parser.ParseFile(token.NewFileSet(), full, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Errorf("%v", err)
				continue
			}
			ast.Inspect(tree, func(n ast.Node) bool {
				if sel, ok := n.(*ast.SelectorExpr); ok {
					if x, ok := sel.X.(*ast.Ident); ok && slices.Contains(r.calls, x.Name+"."+sel.Sel.Name) {
						t.Errorf("%s must not call %s.%s; %s", path.Join(p.trimModule(), file), x.Name, sel.Sel.Name,
							instead[x.Name])
					}
				}
				return true
			})
		}
	}
}

func TestImports_confinedPackagesStayInTheirRooms(t *testing.T) {
	used := map[string]bool{}
	for _, p := range listPackages(t) {
		for _, c := range confined {
			for _, imported := range p.Imports {
				if !matchesPattern(c.what, imported) {
					continue
				}
				used[c.what] = true
				if !anyMatches(c.rooms, p.trimModule()) {
					t.Errorf("%s imports %s, which is confined to %v: %s", p.trimModule(), imported, c.rooms, c.why)
				}
			}
		}
	}
	for _, c := range confined {
		if !used[c.what] {
			t.Errorf("nobody imports %s: remove its row", c.what)
		}
	}
}

func TestImports_nonTestCodeImportsNoTestCode(t *testing.T) {
	for _, p := range listPackages(t) {
		if matchesPattern("test/...", p.trimModule()) {
			continue
		}
		for _, imported := range p.Imports {
			switch base := path.Base(imported); {
			case imported == "testing" || strings.HasPrefix(imported, "testing/"),
				strings.HasPrefix(imported, module+"/test/"),
				strings.HasSuffix(base, "test") && strings.HasPrefix(imported, module+"/"):
				t.Errorf("%s imports %s outside its tests", p.trimModule(), imported)
			}
		}
		for _, imported := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			local, ok := strings.CutPrefix(imported, module+"/")
			if ok && matchesPattern("cmd/...", local) && !matchesPattern("cmd/webhook-server/...", local) &&
				!matchesPattern("cmd/...", p.trimModule()) && p.trimModule() != "hack/schemas" {
				t.Errorf("%s imports %s: only cmd/ and test/ may", p.trimModule(), local)
			}
		}
	}
}

func TestImports_noRowIsStale(t *testing.T) {
	all := listPackages(t)
	exists := func(pattern string) bool {
		return slices.ContainsFunc(all, func(p *listed) bool { return matchesPattern(pattern, p.trimModule()) })
	}
	for _, r := range table {
		if !slices.ContainsFunc(all, func(p *listed) bool { return rowOf(p.trimModule()).namesPackage(r.pkg) }) {
			t.Errorf("the row of %s decides for no package: remove it", r.pkg)
		}
		for _, may := range r.may {
			if !exists(may) {
				t.Errorf("the row of %s allows %s, which does not exist: remove it", r.pkg, may)
			}
		}
		if r.why == "" {
			t.Errorf("the row of %s gives no reason", r.pkg)
		}
	}
	for _, c := range confined {
		for _, room := range c.rooms {
			if !exists(room) {
				t.Errorf("%s is confined to %s, which does not exist: remove it", c.what, room)
			}
		}
	}
}

func (r *row) namesPackage(pkg string) bool { return r != nil && r.pkg == pkg }
