// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kubi.zone/kubizone/test/must"
)

// attack is an attack that a tenant (T), a zone's owner (Z), a network outsider (X), a pod (N), a hostile provider or
// secondary (P), or another user of a person's machine (U) may try. run runs the attack here; nil: tests elsewhere do,
// most of which name the attack in a comment ("attack 51"), a text or their own name (TestAttack51).
type attack struct {
	number   int
	who      string
	tries    string
	expected string
	run      func(t *testing.T, a *arena)
	// tests are tests elsewhere that do not name the attack: a package and a test, or a story behind the test that
	// runs it ("TestStories//quota").
	tests []string
}

var attacks = []attack{
	{1, "T", "a Zone whose name another namespace holds", "refused without their names", zoneOfAnother, nil},
	{2, "T", "the parent of somebody's zone", "403 without establish", parentOfAnother, nil},
	{3, "T", "a zone below somebody's without delegation", "403", childWithoutDelegation, nil},
	{4, "T", "one zone from two clients at once", "one has it, one is refused, one line of serials", twoClaims, nil},
	{5, "T", "a name right after its zone was deleted", "403 without establish; held until the zone is removed", claimAfterDeletion, nil},
	{6, "T", "another spelling of somebody's name", "one canonical name", trySpellings, nil},
	{7, "T", "names that are not ASCII, broken A-labels", "mapped to what they mean, or 422", foreignScripts, nil},
	{8, "T", "names that are too long, empty, with NUL or an inner *", "422 for the name", brokenNames, nil},
	{9, "T", "a longer zone that would take foreign records along", "403", longerZone, nil},
	{10, "T", "a record whose name falls into a foreign zone", "403; by zoneRef as if there were none", recordInForeignZone, nil},
	{11, "Z", "a name server above foreign records", "403", cutAboveOthers, nil},
	{12, "T", "a wildcard above what is granted", "403", wildcardAboveGrant, nil},
	{13, "T", "DNAME and CNAME at the apex, above and beside other data", "403 or 422", tryAliases, nil},
	{14, "T", "a certificate challenge for a name of others", "403", tryChallenges, nil},
	{15, "T", "other types and names than granted", "403", otherTypes, nil},
	{16, "T", "what belongs to the server or the zone's owner", "403 or 422", reservedTypes, nil},
	{17, "T", "a type by its number, other classes", "normalised, then judged", numberedTypes, nil},
	{18, "T", "more data than every secondary takes", "422 with the limit", tooMuchAtAName, nil},
	{19, "T", "consent forged by status, labels, annotations", "ignored", forgedConsent, nil},
	{20, "T", "a write in the instant of revocation", "none is in the zone after it", nil, []string{"pkg/zone/ledger TestRace_noRecordComesInAfterItsDelegationWent_I5", "pkg/zone/ledger TestStories"}},
	{21, "T", "inheriting from a zone or a namespace of the same name", "a zone's rules go with it; a namespace's stay until they are withdrawn, its records do not", recreatedZone, []string{"test/cluster TestStories//namespace"}},
	{22, "T", "ownerReferences and finalizers on foreign zones", "refused; nothing is collected across namespaces", ownerReferences, []string{"test/cluster TestStories//owners"}},
	{23, "T", "serial, hash and conditions of one's own", "the server's stay", forgedStatus, nil},
	{24, "T", "data with newlines, quotes, comments", "stored as octets; the export says the same", hostileData, nil},
	{25, "T", "directives of zone files in values and names", "data or 422", tryDirectives, nil},
	{26, "T", "values that end a provider's line or document", "encoded by type", nil, nil},
	{27, "T", "data made to collide in the hash", "no sum of it works", nil, []string{"pkg/zone/law/sethash TestUpdate_linearAttacksFail"}},
	{28, "T", "escape sequences into logs and tables", "escaped", tryEscapes, nil},
	{29, "X", "transfers without a key, with the key of another zone, probing", "REFUSED, the same for what is there and what is not", nil, []string{"pkg/primary TestRespond_outsiderLearnsNothing", "pkg/primary TestTSIG_keyOfAnotherRuleIsRefused"}},
	{30, "T", "a transfer of the catalog", "REFUSED", nil, []string{"pkg/primary TestClass_peersSeeTheirOwnZonesAlone"}},
	{31, "X", "TSIG wrong in every way", "the error of RFC 8945", nil, []string{"pkg/primary TestTSIG_errors"}},
	{32, "X", "replays of signed messages", "nothing changes", nil, nil},
	{33, "P", "a stream of messages stripped or reordered", "rejected", nil, []string{"pkg/dns/transfer TestReceive_takesUnsignedMessagesBetweenSignedOnes", "pkg/dns/transfer TestReceive_takesNoPartOfAZone", "pkg/primary TestTransfer_messageEdgesLoseNothing"}},
	{34, "X", "floods of NOTIFY", "no answer larger than the question", nil, nil},
	{35, "X", "amplification", "the SOA or TC", nil, nil},
	{36, "X", "UPDATE to the primary", "NOTIMP or REFUSED", nil, nil},
	{37, "X", "malformed messages", "FORMERR, no panic", nil, []string{"pkg/primary TestRespond_malformed", "pkg/primary TestPrimary_survivesGarbage"}},
	{38, "X", "slow and idle connections", "cut; the others are served", nil, []string{"pkg/primary TestTCP_connectionsAreBounded", "pkg/primary TestTCP_slowSendersAreCut", "pkg/primary TestTCP_readerThatNeverReadsIsCut"}},
	{39, "P", "endless and foreign transfers into an import", "rejected", nil, []string{"pkg/dns/transfer TestReceive_takesNoPartOfAZone"}},
	{40, "T", "a zone named like the catalog", "reserved", nil, []string{"pkg/primary TestClass_namesAndKeysAreOneInEach"}},
	{41, "N", "identity headers straight to the port", "401", nil, nil},
	{42, "N", "the same with a certificate of the cluster or of another name", "ignored; refused at start", nil, nil},
	{43, "N", "impersonation, doubled and odd headers", "the ordinary way", nil, nil},
	{44, "N", "every path without a name", "health alone", nil, nil},
	{45, "T", "upgrades, absolute URIs, path tricks", "no upgrade, no redirect", nil, nil},
	{46, "T", "reviews that time out", "never allowed", nil, nil},
	{47, "T", "lists and watches with foreign tokens", "own objects; 400 or 410", nil, nil},
	{48, "T", "reading others by errors, metrics, events", "no foreign names", nil, nil},
	{49, "T", "a secret of another namespace", "refused", nil, nil},
	{50, "T", "a provider of one's own with shared credentials", "classes are the cluster's", ownProvider, nil},
	{51, "T", "addresses that stand for this machine or the cloud's", "refused after resolution", nil, nil},
	{52, "P", "redirects, rebinding, endless bodies", "not followed, bounded, not echoed", nil, nil},
	{53, "T", "a token over plain HTTP", "refused", nil, nil},
	{54, "T", "rights that one does not hold", "403", tryEscalation, nil},
	{55, "N", "the token of a delivery controller", "what the installation grants it, and no more", nil, []string{"test/deploy TestRBAC_isWhatTheGoldenFileSays", "test/cluster TestController_deliversWithTheRightsOfTheInstallation"}},
	{56, "P", "an empty or foreign list", "nothing of others is deleted", nil, nil},
	{57, "T", "objects and patches beyond all size", "413 or 422; others are served", bigObjects, nil},
	{58, "T", "one record changed as fast as it goes", "a serial for each change, and bounded work for all who follow", busyRecord, []string{"pkg/primary TestNotify_coalescesAndSendsOneAtATime"}},
	{59, "T", "hundreds of watches that nobody reads", "ended, little is held for them, others are served", unreadWatches, nil},
	{60, "T", "content that crashes a controller", "one object's failure", nil, nil},
	{62, "T", "a deleted Record that a finalizer holds in the zone", "released when its rule is gone, and never adopted anew", nil,
		[]string{"pkg/zone/law TestScenarios", "test/e2e TestStories//finalizer"}},
	{63, "T", "a child zone that goes on after its delegation was withdrawn", "it ends after the period of the zone above, with those below it, whatever its owner does", nil, nil},
	{64, "T", "names and challenges below another's wildcard, addresses below another's NS records", "403", belowAWildcard, nil},
	{65, "T", "a name that several feed by a shared rule", "403 but by that rule", sharedName, nil},
	{66, "T", "CAA, mail policies and challenges above a name of others", "403", aboveOthers, nil},
	{67, "T", "a name server, mail host or HTTPS target that the zone's apex names, and names of others by naming them there", "403; a Warning where somebody has it; 201 for the others", namedHosts, nil},
	{68, "T", "an address beside another's, in silence", "a Warning", silentJoining, nil},
	{70, "T", "a child zone whose name servers have no address", "its parent stays Servable and lists none of them", nil, nil},
	{71, "T", "data of a former zone left at a provider for the next owner of the name", "withdrawn, unless the class allows Retain; no right in a namespace lets it be forgotten", nil, []string{"test/cluster TestStories//classes"}},
	{72, "T", "an object that makes each small write a large one", "422 with the field, the figures and the way out", largeObjects, nil},
	{73, "T", "more octets than a namespace may have or write", "403 with both figures, or 429 with Retry-After; others are served", octetsOfATenant, nil},
	{74, "T", "a standalone zone by a Role with all verbs on zones", "403 with the right that is needed", establishByEveryVerb, nil},
	{75, "T", "a name of the default view by a zone of another view", "403 for the class, or not in force; the default view's zone has the name", nil, []string{"pkg/delivery/objects TestClassesOf", "pkg/delivery/controller/class TestController_theDefaultViewHasTheName_S1_9", "pkg/apis/kubizone/class TestDelivers_S1_9"}},
	{76, "T", "names and views of private zones by zoneRef and dry run", "the same words as for a zone that does not exist", privateZones, nil},
	{77, "N", "every delegation by the token of a delivery controller", "one finalizer, and no right on specs", nil, []string{"test/deploy TestRBAC_isWhatTheGoldenFileSays", "pkg/apiserver/registry/zone TestServer"}},
	{78, "X", "all places of the primary by idle connections without a key", "peers that sign are served; the oldest that did not is cut", nil, []string{"pkg/primary TestTCP_idleConnectionsTakeNoPeersPlaces"}},
	{79, "X", "all places of a webhook server by bodies that do not come", "signed requests are answered", nil,
		[]string{"cmd/webhook-server/server TestServer_heldBodiesHoldUpNobody"}},
	{80, "T", "metadata and local addresses in IPv6 that carries them", "refused after resolution", nil, []string{"pkg/delivery/dial TestCheck_findsTheAddressInEveryForm"}},
	{81, "T", "the operators' network by the status of a zone", "the class and what to do", nil, []string{"pkg/apiserver/judge TestJudge_showsNoTenantTheTextOfTheProvider"}},
	{82, "T", "a Delegation of one's own namespace for somebody's zone", "in force nowhere; the zone's records stay 403", nil, []string{"pkg/zone/ledger TestDelegation_ofAnotherNamespaceGivesNothing_S4_3", "test/e2e TestStories//delegations"}},
	{83, "T", "pods, images, configuration and connections of the platform by Bind9Clusters and Bind9Instances", "403 for the right that is missing, or 422", serversByProxy, nil},
	{84, "T", "keys of one's own, or for another's zone, in the zone above", "403 in every namespace, ignored in the status; nothing where the rule does not say ds", keysAbove, nil},
	{85, "T", "the wildcard or a challenge of the name that the patterns of several tenants end in", "403 with the pattern that is missing", wildcardOfAPattern, nil},
	{86, "T", "challenges above names of others, and names of others below a challenge", "403 for the second comer", challengeOfTheFirst, nil},
	{87, "T", "a small body that takes minutes and gigabytes", "400 or 413 before it is decoded", costlyBodies, nil},
	{88, "T", "all seats of the server, by bodies that do not come and answers that are not read", "ended within seconds; " +
		"others are served", slowClients, []string{"pkg/apiserver/pace TestEndSlowClients"}},
	{89, "T", "all places for reading zones, by half a dozen tenants that read slowly", "a quarter is for users who may read all zones", nil, nil},
	{90, "T", "all workers of a class, by thousands of changes or comparisons in many zones", "tenants have turns and shares; another's change is delivered at once", nil, nil},
	{91, "X", "files by the names of zones and records at a webhook server", "INVALID_DOMAIN, or a label of the zone", nil, nil},
	{92, "T", "statements of named.conf by strings of BIND servers", "an error with the field; BIND reads the template's statements alone",
		nil, nil},
	{93, "T", "names of others by Records that wait for the moment in which their holder replaces an object",
		"they wait on, say not whose the name is, and cost the holder nothing", nil, nil},
	{94, "T", "names of others by an update key with wide patterns, or by its prerequisites and questions", "REFUSED, there or not", nil,
		nil},
	{95, "X", "a recorded update, at once and after others have changed what it did", "answered as it was, and carried out once", nil, nil},
	{96, "T", "the name of another's TSIG key", "KeyNameTaken, without the name of the other", nil, nil},
	{97, "T", "the primary's sockets by updates that hang, or keys by the thousand", "SERVFAIL above its share; questions and others " +
		"are served", nil, nil},
	{98, "T", "every Record by the name of an UpdateKey's user", "nothing: the name gives no right", nil, nil},
	{99, "X", "an update that a secondary passes on, forged, unsigned or beyond its key", "refused: its signature counts, " +
		"not the secondary's", nil, nil},
	{100, "T", "challenges for another's names, by a Challenge made by hand, another text than a digest, or a ClusterIssuer",
		"the rules of zones for its namespace decide; else the right to solve is missing", nil, nil},
	{101, "T", "the challenges of others by a flood of Challenges", "refused by the budgets of its namespace; others' are solved",
		floodOfChallenges, nil},
	{102, "T", "the name of a TSIG key in use, by an older UpdateKey whose Secret comes now", "KeyNameTaken; the user updates on",
		nil, nil},
	{103, "T", "the name of a TSIG key in use, by the key of a server of a class", "the server is in no class; the user goes on", nil, nil},
	{104, "T", "a name LABEL.NAMESPACE. before the namespace has a key of it", "KeyNameTaken", nil, nil},
	{105, "T", "the end of a class, by the key of an older class that its namespace writes", "InvalidConfiguration; the user of the " +
		"name is served on", nil, nil},
	{106, "T", "the Events of others by refused updates and withdrawn rules by the thousand", "each namespace has a share of the queue",
		nil, nil},
	{107, "X", "the log by updates that are refused and requests that end at once",
		"so many lines of each key and of each place in the code", nil, nil},
	{110, "T", "the primary's UDP by updates of thousands of records, and names of many Records", "REFUSED by the header, or read " +
		"in the tenant's own place; questions and others are served", nil, nil},
	{111, "T", "the answers that are kept for another's updates, by a flood of one's own", "a tenant forgets its own; what is " +
		"forgotten is BADTIME", nil, nil},
	{112, "T", "the primary's UDP by questions whose answers are long to make: differences, ANY", "the SOA, or one RRset, " +
		"without reading the others", nil, nil},
	{113, "T", "the processes, etcd's members and the certificates of the platform, by the roles of a tenant", "no role but " +
		"kubizone-operator reads the Installation, in the whole cluster", nil, nil},
	{114, "T", "Ready of Records by the status of a Delivery, with every right in its namespace", "403: a ClusterRoleBinding gives " +
		"the right to confirm", nil, []string{"test/cluster TestStories//confirm"}},
	{115, "N", "Ready of Records by the token of one class's controller: another class, a serial that no server has", "403, 422; no " +
		"Record is Ready before every class in force confirms", nil, []string{"test/cluster TestStories//confirm"}},
	{116, "T", "a mention, link, HTML or command of the forge in the comment of a review, by texts of manifests", "code, in a block that " +
		"nothing in it ends", nil, []string{"cmd/kubectl-kubizone/review TestMarkdown_ofHostileTexts", "cmd/kubectl-kubizone/review TestJobs"}},
	{117, "X", "a comment that begins like that of a review, so that the review changes it", "left alone, since its author is another", nil,
		[]string{"cmd/kubectl-kubizone/review TestPutComment_changesItsOwn"}},
	{118, "X", "the token of a review, by a redirect of the forge's API, and settings with commands of a shell", "sent to no other " +
		"server, and no text is run", nil, []string{"cmd/kubectl-kubizone/review TestClient_followsNoRedirect", "cmd/kubectl-kubizone/review TestJobs"}},
	{119, "T", "a traceparent of the client's own choice", "sampled by the server's rate; no step keeps it", nil,
		[]string{"test/cluster TestTraces_sampleForeignParentsByOurRate"}},
	{120, "U", "the pages of a console, by its port, a guessed cookie, another host or a page on another port", "401 or 403 without a body",
		nil, []string{"cmd/kubectl-kubizone/console TestDoor_answersNobodyElse"}},
	{121, "U", "a console by the address that opened it", "401; the terminal warns", nil,
		[]string{"cmd/kubectl-kubizone/console TestDoor_admitsOnceAndForAMinute"}},
	{122, "T", "markup, scripts, links or turned lines on pages of a console, by texts of objects", "text, with control characters escaped",
		nil, []string{"cmd/kubectl-kubizone/console TestPages_takeNoTextAsMarkup"}},
	{123, "T", "what exists, by the pages that a right is missing for", "the right, and the same page for what is not there", nil,
		[]string{"cmd/kubectl-kubizone/console TestPages_nameTheMissingRight"}},
	{124, "U", "a write, by a console", "no request but reads, reviews and dry runs", nil,
		[]string{"cmd/kubectl-kubizone/console TestReadOnly_sendsNoWrite"}},
	{125, "T", "reading who changed what, of other namespaces, by records/changes and zones/changes", "403; of its own namespace " +
		"its own Records alone", readHistories, nil},
	{126, "T", "writing at its budget for an hour, so that others' histories go", "its own oldest changes are condensed; others' " +
		"stay whole", nil, []string{"pkg/zone/ledger TestHistory_ofATenantAtItsBudget_S7_13",
		"cmd/kubectl-kubizone/history TestRevert_besideATenantBeyondItsShare"}},
	{127, "T", "a deleted Zone of another namespace: reading its history, or taking it back, also by a Zone of its name", "404 as for a " +
		"name that never was, 403; of its own Zone its own history", deletedZones, nil},
	{128, "T", "holding a name through the expiry of its Record", "the name is free at that time; a later edit is a write like any", nil,
		[]string{"pkg/zone/ledger TestExpiry_keepsNoClaim_S15_1_S15_2", "pkg/zone/law TestSituations"}},
	{129, "T", "10,000 Records that expire in one second, to stall the server", "its own namespace's cascade; others' writes pass", nil,
		[]string{"pkg/zone/ledger TestExpiry_atOnce_S15_3"}},
	{130, "T", "expiresAt in the far past, in the year 10000, in fractions of a second", "422", nil,
		[]string{"pkg/apis/kubizone/validation TestRecord_oneObject"}},
	{131, "T", "moving expiresAt to and fro while the server takes the Record from its zone", "one outcome, one key, one serial line", nil,
		[]string{"pkg/zone/ledger TestExpiry_racesEdits_S15_1"}},
	{132, "T", "its own Records' expiry, to have the zone held as by a mass deletion", "no hold", nil,
		[]string{"pkg/zone/law TestExpiry_ofATenantHoldsNoZone_S15_4"}},
	{133, "T", "expired Records beyond recordsPerNamespace, brought back at once", "the limit refuses them; they cost storage budget",
		nil, []string{"pkg/zone/law TestExpiry_dodgesNoLimit_S15_1"}},
	{134, "T", "PTR in another's reverse zone, by a Zone of its own with a name that the reverse zone lists", "the Zone of that name " +
		"in the reverse zone's namespace alone", nil, reverseAttacks},
	{135, "T", "the PTR of another's address, or one outside of the prefixes, by an A Record", "own's name comes first; outside of the " +
		"prefixes none", nil, reverseAttacks},
	{136, "T", "a flood of names with one address, so that another's name there never has the PTR", "100 names are stored, own's first; " +
		"when they are gone, the others come", nil, []string{"pkg/zone/ledger TestReverse_manyNamesOfAnAddress_S16_2"}},
	{137, "T", "PTR to names of any number, by a wildcard", "a wildcard is no name of an address", nil, reverseAttacks},
	{138, "T", "a hold of the reverse zone, by deleting its A Records by the dozen", "own's removals count alone", nil,
		[]string{"pkg/zone/ledger TestReverse_massDeletion_S16_4"}},
	{139, "T", "the PTR of another's name, by a PTR Record beside it", "the rules of the reverse zone decide, as for any Record", nil,
		reverseAttacks},
	{140, "X", "a class with TLS, by no certificate, that of another authority or name, an expired one, without ALPN, by TLS 1.2", "no " +
		"handshake; the cause is in log and status", nil, nil},
	{141, "X", "the zones and catalog of a class with TLS, in clear", "REFUSED, the same for what is not there", nil, nil},
	{142, "X", "a class with TLS, by a connection or session from before its authority was replaced", "REFUSED from the next message on; " +
		"nothing is resumed", nil, nil},
	{143, "P", "the zones of another class with TLS, by its server's name, or the time of its checks", "no handshake, or REFUSED, by " +
		"one check a minute", nil, nil},
	{144, "X", "all places and processors of the primary by half-open, slow or countless handshakes, or long chains", "two seconds each, " +
		"the oldest is cut; 100 a second of unlisted addresses; 4 certificates; secondaries are served", nil, nil},
	{145, "T", "a certificate in a Secret of another namespace", "not read", nil, nil},
}

var reverseAttacks = []string{"pkg/zone/ledger TestReverse_attacks_S16_4"}

// TestAttacks checks the table of attacks: each number has a test, here or in another package, and the tests here are
// run.
func TestAttacks(t *testing.T) {
	elsewhere, all := findNamed(t, os.DirFS("../.."))
	for i, x := range attacks {
		if i > 0 && x.number <= attacks[i-1].number {
			t.Fatalf("attack %d stands behind attack %d", x.number, attacks[i-1].number)
		}
		name := strings.NewReplacer(" ", "_", ",", "", ";", "", "'", "", ".", "").Replace(x.tries)
		t.Run(fmt.Sprintf("%02d_%s", x.number, name), func(t *testing.T) {
			t.Logf("%s tries: %s. Expected: %s.", x.who, x.tries, x.expected)
			for _, test := range x.tests {
				if function, story, _ := strings.Cut(test, "//"); !all[function] || !hasStory(test, story) {
					t.Errorf("there is no %s", test)
				}
			}
			shown := slices.Concat(elsewhere[x.number], x.tests)
			slices.Sort(shown)
			for _, test := range slices.Compact(shown) {
				t.Logf("shown by %s", test)
			}
			switch {
			case x.run != nil:
				x.run(t, requireArena(t))
			case len(shown) == 0:
				t.Errorf("no test names attack %d", x.number)
			}
		})
	}
}

// hasStory reports whether the story of a test, if any, is a file of the test's package.
func hasStory(test, story string) bool {
	directory, _, _ := strings.Cut(test, " ")
	_, err := os.Stat("../../" + directory + "/testdata/" + story + ".txtar")
	return story == "" || err == nil
}

var everywhere = flag.Bool("everywhere", false, "run the tests of other packages that carry attacks out, too")

// With -everywhere, the tests in other packages that name an attack are run from here, too, as proof that they exist
// and pass.
func TestAttacks_elsewhere(t *testing.T) {
	if !*everywhere {
		t.Skip("without -everywhere it is for the packages' own runs")
	}
	elsewhere, _ := findNamed(t, os.DirFS("../.."))
	packages := map[string][]string{}
	for _, x := range attacks {
		for _, test := range slices.Concat(elsewhere[x.number], x.tests) {
			directory, name, _ := strings.Cut(test, " ")
			packages[directory] = append(packages[directory], name)
		}
	}
	for _, directory := range slices.Sorted(maps.Keys(packages)) {
		t.Run(directory, func(t *testing.T) {
			slices.Sort(packages[directory])
			tests := slices.Compact(packages[directory])
			patterns := make([]string, len(tests))
			for i, test := range tests {
				patterns[i] = "^" + strings.ReplaceAll(test, "//", "$/^") + "$"
			}
			run := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "-count=1", "-v", "-timeout", "20m", "-run", strings.Join(patterns, "|"), "./"+directory)
			run.Dir = "../.."
			out, err := run.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %v\n%s", run, err, out)
			}
			for _, test := range tests {
				function, story, _ := strings.Cut(test, "//")
				if !regexp.MustCompile(`(?m)^ *--- PASS: ` + function + `\b.*` + story).Match(out) {
					t.Errorf("%s did not run:\n%s", test, out)
					continue
				}
				t.Logf("%s passes", test)
			}
		})
	}
}

// mention matches attack numbers in tests: "attack 51", "attacks 41, 42 and 43", "attacks 41 to 43".
var (
	mention = regexp.MustCompile(`(?i)\battacks?\s+(\d+(?:(?:\s*,\s*|\s+and\s+|\s*,\s*and\s+|\s+to\s+|\s*-\s*)\d+)*)`)
	inName  = regexp.MustCompile(`\bTestAttacks?(\d+(?:_\d+)*)`)
	number  = regexp.MustCompile(`(to\s+|-\s*)?(\d+)`)
)

func findNumbers(text string) (all []int) {
	for _, m := range mention.FindAllStringSubmatch(text, -1) {
		last := 0
		for _, n := range number.FindAllStringSubmatch(m[1], -1) {
			x, _ := strconv.Atoi(n[2])
			for n[1] != "" && last < x-1 {
				last++
				all = append(all, last)
			}
			all, last = append(all, x), x
		}
	}
	for _, m := range inName.FindAllStringSubmatch(text, -1) {
		for n := range strings.SplitSeq(m[1], "_") {
			x, _ := strconv.Atoi(n)
			all = append(all, x)
		}
	}
	return all
}

// findNamed returns the tests of other packages by attack number, and all tests.
func findNamed(t *testing.T, root fs.FS) (found map[int][]string, all map[string]bool) {
	t.Helper()
	found, all = map[int][]string{}, map[string]bool{}
	for _, top := range []string{"pkg", "test", "cmd"} {
		must.Succeed(t, fs.WalkDir(root, top, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "test/security/") {
				return err
			}
			source, err := fs.ReadFile(root, path)
			if err != nil {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, source, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			for _, decl := range file.Decls {
				test, ok := decl.(*ast.FuncDecl)
				if !ok || test.Recv != nil || !strings.HasPrefix(test.Name.Name, "Test") && !strings.HasPrefix(test.Name.Name, "Fuzz") {
					continue
				}
				from := test.Pos()
				if test.Doc != nil {
					from = test.Doc.Pos()
				}
				id := path[:strings.LastIndexByte(path, '/')] + " " + test.Name.Name
				all[id] = true
				for _, n := range findNumbers(string(source[from-file.FileStart : test.End()-file.FileStart])) {
					found[n] = append(found[n], id)
				}
			}
			return nil
		}))
	}
	for n := range found {
		slices.Sort(found[n])
		found[n] = slices.Compact(found[n])
	}
	return found, all
}

func TestNumbers_areFoundWhereTheyAreNamed(t *testing.T) {
	for text, want := range map[string][]int{
		"see there, attack 46":         {46},
		"Attacks 51 and 53.":           {51, 53},
		"attacks 41, 42, and 43":       {41, 42, 43},
		"It holds, attacks 41 to 43,":  {41, 42, 43},
		"the attack failed":            nil,
		"func TestAttack32_34_x(":      {32, 34},
		"attack 51: IPv4 in IPv6, 192": {51},
	} {
		if have := findNumbers(text); !slices.Equal(have, want) {
			t.Errorf("%q: %v, want %v", text, have, want)
		}
	}
}
