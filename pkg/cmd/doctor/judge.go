// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	certutil "k8s.io/client-go/util/cert"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/utils/ptr"

	"kubi.zone/kubizone/pkg/etcd/alarm"
)

// automanaged is the label of an APIService that kube-apiserver keeps for a CustomResourceDefinition.
const automanaged = "kube-aggregator.kubernetes.io/automanaged"

// expirySoon is the lifetime below which a renewal was missed, as leaves are renewed when a third is left.
const expirySoon = 14 * 24 * time.Hour

const formatCheck = "format"

// Clock differences for a WARN and for a FAIL. TSIG allows five minutes (RFC 8945).
const (
	clockWarns = 10 * time.Second
	clockFails = 5 * time.Minute
)

// judgeFacts returns the findings in the order of a request's path (D6).
func judgeFacts(f *facts, now time.Time) []Finding {
	if f.versionErr != nil {
		return []Finding{fail("kube-apiserver", "it does not answer: "+f.versionErr.Error(), "check --kubeconfig and --context, and "+
			"whether a firewall drops packets on the way; where connections are taken and not answered, its process is stopped or "+
			"overloaded (ps -o stat= -p PID: T is stopped); nothing else can be checked without it")}
	}
	if f.standalone() {
		return []Finding{warn("version", "this is kubizone up ("+f.version+"), which needs no installation: there is nothing to check",
			"see its output; kubectl get --raw '/readyz?verbose' lists its checks")}
	}
	now = now.Add(f.ahead[kubeAPIServer]) // kube-apiserver verifies the certificates
	return []Finding{
		f.judgeClocks(now), f.judgeVersion(), f.judgeAPIServices(), f.judgeEndpoints(), f.judgeCABundle(now), f.judgeCertificate(now),
		f.judgePermissions(), f.judgeReady(), f.judgeNamespaces(),
	}
}

func findCause(findings []Finding) int {
	cause := -1
	for i, finding := range findings {
		if finding.Status == Fail && (cause < 0 || finding.Depth > findings[cause].Depth) {
			cause = i
		}
	}
	return cause
}

func (f Finding) at(depth Depth) Finding {
	f.Depth = depth
	return f
}

func ok(check, message string) Finding { return Finding{Check: check, Status: OK, Message: message} }

func warn(check, message, next string) Finding {
	return Finding{Check: check, Status: Warn, Message: message, Next: next}
}

func fail(check, message, next string) Finding {
	return Finding{Check: check, Status: Fail, Message: message, Next: next}
}

func notChecked(check, what string, err error) Finding {
	next := "run this again when kube-apiserver answers"
	if apierrors.IsForbidden(err) {
		next = "run this as a user with permission to read it"
	}
	return warn(check, what+" could not be read: "+err.Error(), next)
}

func (f *facts) judgeClocks(now time.Time) Finding {
	const check = "clocks"
	if len(f.ahead) == 0 {
		return warn(check, "no answer says what time it is at a server", "see ready")
	}
	offsets := map[string]time.Duration{}
	reference, known := f.ahead[kubeAPIServer]
	for from, ahead := range f.ahead {
		offsets[from] = ahead - reference
	}
	worst := slices.MaxFunc(slices.Sorted(maps.Keys(offsets)), func(a, b string) int {
		return cmp.Compare(offsets[a].Abs(), offsets[b].Abs())
	})
	of, side := "kube-apiserver's", "ahead of"
	if !known {
		of = "that of this machine"
	}
	if offsets[worst] < 0 {
		side = "behind"
	}
	message := fmt.Sprintf("the clock of %s is %s %s %s, where it is %s", worst, offsets[worst].Abs(), side, of,
		now.UTC().Format(time.RFC3339))
	const next = "set the clock of its node: timedatectl and chronyc tracking show it there"
	switch {
	case offsets[worst].Abs() > clockFails:
		return fail(check, message+
			": certificates of one are not valid yet, or not any more, for the other, and name servers refuse what is "+
			"signed by TSIG", next).at(Root)
	case offsets[worst].Abs() > clockWarns:
		return warn(check, message, next)
	case reference.Abs() > clockWarns:
		return warn(check, fmt.Sprintf("the clock of this machine and kube-apiserver's are %s apart", reference.Abs()),
			"set that which is wrong: this machine shows other times than the servers")
	}
	most := max(offsets[worst].Abs(), reference.Abs(), time.Second)
	return ok(check, fmt.Sprintf("%d servers, none more than %s off", len(offsets), most))
}

func (f *facts) judgeVersion() Finding {
	const check = "version"
	switch {
	case len(f.absent) > 0:
		return fail(check, fmt.Sprintf("kube-apiserver %s does not have %s: the server waits for them before it takes a write", f.version,
			strings.Join(f.absent, ", ")),
			"upgrade the cluster to a version that has them, or switch off what asks for them with --disable-admission-plugins or "+
				"--enable-priority-and-fairness=false")
	case f.absentErr != nil:
		return notChecked(check, fmt.Sprintf("resources of kube-apiserver %s", f.version), f.absentErr)
	}
	return ok(check, fmt.Sprintf("kube-apiserver %s has all that the server needs", f.version))
}

func (f *facts) judgeAPIServices() Finding {
	const check = "apiservice"
	if f.registrationsErr != nil {
		return notChecked(check, "APIServices", f.registrationsErr)
	}
	for _, name := range apiServices {
		if f.registration(name) == nil {
			return fail(check, name+" does not exist: kubectl does not know its kinds", f.installAgain()).at(Root)
		}
	}
	var names []string
	for _, registered := range f.registrations {
		name := registered.Name
		names = append(names, name)
		switch {
		case registered.Spec.Service == nil, registered.Labels[automanaged] != "":
			return fail(check, name+" serves a CustomResourceDefinition of an older kubizone",
				"follow docs/migration.md: kubectl label apiservice "+name+" "+automanaged+"-, and then: "+f.installAgain()).at(Root)
		case registered.Spec.InsecureSkipTLSVerify:
			return fail(check, name+" has insecureSkipTLSVerify: any host at that address can act as the server",
				"set it to false; the server writes caBundle")
		}
		for _, condition := range registered.Status.Conditions {
			if condition.Type == apiregistrationv1.Available && condition.Status != apiregistrationv1.ConditionTrue {
				return fail(check,
					fmt.Sprintf("kube-apiserver does not reach %s, and says %s: %s", name, condition.Reason, condition.Message),
					nextFor(name, "nothing else that was found explains it: a firewall or NetworkPolicy may stand between control plane "+
						"and pods: open TCP 10250, or choose another apiserver.securePort of the chart")).at(Symptom)
			}
		}
	}
	namespace, service, port := f.serviceRef()
	return ok(check, fmt.Sprintf("%s are served by service %s/%s, port %d", strings.Join(names, ", "), namespace, service, port))
}

func nextFor(name, always string) string {
	if slices.Contains(apiServices, name) {
		return always
	}
	return "the servers may run without its flag, as --acme: repeat the upgrade that adds it, or kubectl delete apiservice " + name
}

func (f *facts) judgeEndpoints() Finding {
	const check = "endpoints"
	if f.slicesErr != nil {
		return notChecked(check, "endpoint slices", f.slicesErr)
	}
	if f.service != nil && f.service.Spec.Type == corev1.ServiceTypeExternalName {
		return ok(check, "a service of type ExternalName needs none")
	}
	namespace, _, _ := f.serviceRef()
	look := "see ready below; kubectl describe pods -n " + namespace + " says why: an image, a quota, Pod Security or a probe"
	ready, all := 0, 0
	for _, slice := range f.slices {
		for _, endpoint := range slice.Endpoints {
			all++
			if ptr.Deref(endpoint.Conditions.Ready, true) {
				ready++
			}
		}
	}
	switch {
	case all == 0:
		return fail(check, "the service selects no pod", "kubectl get pods,statefulsets,deployments -n "+namespace+" shows whether there "+
			"is one; the selector must be a label of its")
	case ready == 0:
		return fail(check, fmt.Sprintf("none of %d is ready", all), look).at(Consequence) // of the server's failure
	case ready < all:
		return warn(check, fmt.Sprintf("%d of %d are ready", ready, all), look+"; the others serve")
	}
	return ok(check, fmt.Sprintf("%d ready", ready))
}

func (f *facts) judgeCABundle(now time.Time) Finding {
	const check = "cabundle"
	zones := f.registration(apiServices[0])
	if zones == nil {
		return warn(check, "there is no "+apiServices[0]+" to read it from", "see apiservice")
	}
	for _, other := range f.registrations {
		if bytes.Equal(zones.Spec.CABundle, other.Spec.CABundle) {
			continue
		}
		return fail(check, zones.Name+" and "+other.Name+" have different ones", "the servers write each within half a minute if they run "+
			"with --serving-cert-secret; else: "+nextFor(other.Name, f.installAgain()))
	}
	if len(zones.Spec.CABundle) == 0 {
		next := "the server writes it when it starts with --serving-cert-secret: see the log of its pods"
		if f.byCertManager() {
			next = "cert-manager's cainjector writes it: look at its log, and at the Certificate"
		}
		return fail(check, "it is empty: kube-apiserver trusts no certificate of the server", next).at(Consequence)
	}
	certs, err := certutil.ParseCertsPEM(zones.Spec.CABundle)
	if err != nil {
		return fail(check, "it is not PEM: "+err.Error(), "take it out of the manifest; the server writes it")
	}
	last := slices.MaxFunc(certs, func(a, b *x509.Certificate) int { return a.NotAfter.Compare(b.NotAfter) }).NotAfter
	first := slices.MinFunc(certs, func(a, b *x509.Certificate) int { return a.NotBefore.Compare(b.NotBefore) }).NotBefore
	day, next := last.UTC().Format(time.DateOnly), f.renewCertificate()
	switch {
	case now.Before(first):
		return fail(check, fmt.Sprintf("its authority is valid from %s on, and for kube-apiserver it is %s",
			first.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339)),
			"a clock was wrong when it was made, or is (see clocks): set it; then "+next)
	case now.After(last):
		return fail(check, "its authority expired on "+day, next)
	case now.Add(expirySoon).After(last):
		return warn(check, "its authority expires on "+day, next)
	}
	return ok(check, fmt.Sprintf("%d authorities, good until %s", len(certs), day))
}

func (f *facts) judgeCertificate(now time.Time) Finding {
	const check = "certificate"
	chains := map[string][]*x509.Certificate{}
	for _, a := range f.answers {
		if len(a.chain) > 0 {
			chains[a.from] = a.chain
		}
	}
	if len(chains) == 0 {
		if apierrors.IsNotFound(f.secretErr) {
			return warn(check, "no address of the server can be reached from here, and there is no secret "+servingSecret,
				"if the server should make one: see permissions")
		}
		if f.secretErr != nil {
			return notChecked(check, "secret "+servingSecret, f.secretErr)
		}
		chain, err := certutil.ParseCertsPEM(f.secret.Data[corev1.TLSCertKey])
		if err != nil {
			return fail(check, "secret "+servingSecret+" has no readable certificate: "+err.Error(), f.renewCertificate())
		}
		chains["secret "+servingSecret] = chain
	}
	namespace, service, _ := f.serviceRef()
	host := service + "." + namespace + ".svc"
	for _, from := range slices.Sorted(maps.Keys(chains)) {
		if finding := f.judgeChain(chains[from], from, host, now); finding.Status != OK {
			return finding
		}
	}
	if finding := f.judgeOthers(now); finding.Status != OK {
		return finding
	}
	return ok(check, fmt.Sprintf("kube-apiserver trusts that of %s for %s", strings.Join(slices.Sorted(maps.Keys(chains)), ", "), host))
}

func (f *facts) judgeOthers(now time.Time) Finding {
	const check = "certificate"
	for _, name := range slices.Sorted(maps.Keys(f.others)) {
		chain, err := certutil.ParseCertsPEM(f.others[name].Data[corev1.TLSCertKey])
		if err != nil {
			continue // the servers report it at start
		}
		next := "recreate it, and restart the servers"
		if name == peerSecret {
			next = "delete the Secret " + name + ", and restart the pods of the servers: the first recreates it"
		}
		end := chain[0].NotAfter
		switch day := end.UTC().Format(time.DateOnly); {
		case now.After(end):
			return fail(check, fmt.Sprintf("that of the Secret %s expired on %s: %s", name, day, otherCertificates[name]), next)
		case now.Add(expirySoon).After(end):
			return warn(check, fmt.Sprintf("that of the Secret %s expires on %s: %s", name, day, otherCertificates[name]), next)
		}
	}
	return ok(check, "")
}

func (f *facts) renewCertificate() string {
	if f.byCertManager() {
		return "look at the Certificate " + servingSecret + " and the log of cert-manager, which issues it"
	}
	namespace, _, _ := f.serviceRef()
	return "kubectl delete secret -n " + namespace + " " + servingSecret + ": the servers make a new one"
}

func (f *facts) judgeChain(chain []*x509.Certificate, from, host string, now time.Time) Finding {
	const check = "certificate"
	roots, between := x509.NewCertPool(), x509.NewCertPool()
	if zones := f.registration(apiServices[0]); zones != nil {
		roots.AppendCertsFromPEM(zones.Spec.CABundle)
	}
	for _, cert := range chain[1:] {
		between.AddCert(cert)
	}
	switch begin, end := chain[0].NotBefore, chain[0].NotAfter; {
	case now.Before(begin):
		return fail(check, fmt.Sprintf("the certificate of %s is valid from %s on, and for kube-apiserver it is %s", from,
			begin.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339)),
			"a clock was wrong when it was made, or is (see clocks): set it; then "+f.renewCertificate())
	case now.After(end):
		return fail(check, "the certificate of "+from+" expired on "+end.UTC().Format(time.DateOnly), f.renewCertificate())
	}
	if _, err := chain[0].Verify(x509.VerifyOptions{DNSName: host, Roots: roots, Intermediates: between, CurrentTime: now}); err != nil {
		return fail(check, fmt.Sprintf("kube-apiserver does not trust the certificate of %s for %s: %v", from, host, err),
			"see cabundle and permissions: the server must be able to write caBundle; with certificates of your own, "+
				"put their authority into caBundle and "+host+" into their names").at(Consequence)
	}
	if now.Add(expirySoon).After(chain[0].NotAfter) {
		return warn(check, "the certificate of "+from+" expires on "+chain[0].NotAfter.UTC().Format(time.DateOnly),
			"it should have been renewed: see the log of the server; or "+f.renewCertificate())
	}
	return ok(check, "")
}

func (f *facts) isMember() bool {
	makesIt := func(c corev1.Container) bool { return slices.Contains(c.Args, "peer-certificate") }
	return slices.ContainsFunc(f.pods, func(pod corev1.Pod) bool { return slices.ContainsFunc(pod.Spec.InitContainers, makesIt) })
}

func (f *facts) runsBeside(command string) bool {
	runs := func(c corev1.Container) bool { return slices.Contains(c.Args, command) }
	return slices.ContainsFunc(f.pods, func(pod corev1.Pod) bool { return slices.ContainsFunc(pod.Spec.Containers, runs) })
}

func (f *facts) judgePermissions() Finding {
	const check = "permissions"
	if f.refusedErr != nil {
		return notChecked(check, "permissions of "+f.account, f.refusedErr)
	}
	var texts []string
	for _, rule := range f.refused {
		if rule.Certificate && f.byCertManager() || rule.Peers && !f.isMember() || rule.Beside != "" && !f.runsBeside(rule.Beside) {
			continue
		}
		texts = append(texts, strings.Join(rule.lacks, ", ")+": "+rule.Purpose)
	}
	if len(texts) > 0 {
		return fail(check, f.account+" lacks "+strings.Join(texts, "; "), f.updateRules())
	}
	return ok(check, f.account+" has what it needs")
}

func failingChecks(text string) []string {
	var names []string
	for line := range strings.Lines(text) {
		if name, failed := strings.CutPrefix(strings.TrimSpace(line), "[-]"); failed {
			name, _, _ = strings.Cut(name, " ")
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

type nextStep struct {
	check, next string
	alarm       bool // of etcd
}

// nextByCheck lists the most important check first. /healthz reports an alarm of etcd even while reads, and so /readyz,
// work. An alarm concerns all servers.
var nextByCheck = []nextStep{
	{alarm.Corrupt, "the members of etcd hold different data and answer nothing (alarm CORRUPT): the log of these servers " +
		"names the members that say so; find the member that differs, replace it as a lost member, and disarm the alarm " +
		"(docs/operations.md, CORRUPT)", true},
	{alarm.Space, "etcd is full and refuses writes (alarm NOSPACE): the servers free space by themselves within a minute; " +
		"if their log says that live data exceeds the quota, raise the quota of etcd (docs/operations.md, NOSPACE)", true},
	{formatCheck, "the servers do not read the format of the store: let the version that wrote it replace them " +
		"(kubectl rollout status), or restore a backup of theirs", false},
	{"etcd", "etcd does not answer, or has no quorum: check its members, disks and certificates, and the log of the server", false},
	{"", "the log of the server says why", false},
}

// judgeReady returns a WARN if another server passes all checks, as the failing server restarts or leaves the Service.
func (f *facts) judgeReady() Finding {
	const check = "ready"
	var failed, unanswered []string
	next, passed := len(nextByCheck)-1, 0
	for _, a := range f.answers {
		names := failingChecks(a.checks)
		switch {
		case len(names) > 0:
			failed = append(failed, a.from+": "+strings.Join(names, ", "))
		case a.err != nil:
			unanswered = append(unanswered, a.from+": "+a.err.Error())
		default:
			passed++
		}
		for _, name := range names {
			next = min(next, slices.IndexFunc(nextByCheck, func(n nextStep) bool { return strings.HasPrefix(name, n.check) }))
		}
	}
	step := nextByCheck[next]
	switch {
	case len(failed) > 0 && passed > 0 && !step.alarm:
		return warn(check, fmt.Sprintf("%d addresses pass every check, and others fail: %s", passed, strings.Join(failed, "; ")),
			"run this again in a minute, if servers restart now; else: "+step.next)
	case len(failed) > 0:
		depth := Root
		if step.check == "" {
			depth = Own
		}
		return fail(check, "failing checks: "+strings.Join(failed, "; "), step.next).at(depth)
	case passed > 0:
		return ok(check, fmt.Sprintf("%d addresses pass every check, etcd included", passed))
	case len(unanswered) > 0:
		return warn(check, "no server answered every check: "+strings.Join(unanswered, "; "), "usual from outside the cluster; "+
			"run this where pods can be reached, or as a user with permission for pods/proxy")
	}
	return warn(check, "no server reachable: the Service has no endpoint and no pod runs", "see endpoints")
}

// judgeNamespaces reports objects of missing namespaces. kube-controller-manager empties a namespace before its end, so
// they came from a backup, or a forced finalization (S8.5).
func (f *facts) judgeNamespaces() Finding {
	const check = "namespaces"
	if status := apierrors.APIStatus(nil); errors.As(f.objectsErr, &status) && status.Status().Code == http.StatusInternalServerError {
		return fail(check, "objects cannot be listed: "+f.objectsErr.Error(), "one unreadable object fails the whole list: "+
			"kubizone fsck names its key; see docs/operations.md, Damage")
	}
	if f.objectsErr != nil {
		return notChecked(check, "the namespaces of Zones, Delegations and Records", f.objectsErr)
	}
	var texts []string
	for _, namespace := range slices.Sorted(maps.Keys(f.left)) {
		texts = append(texts, fmt.Sprintf("%s (%d)", namespace, f.left[namespace]))
	}
	if len(texts) == 0 {
		return ok(check, "each that has Zones, Delegations or Records is there")
	}
	return warn(check, "these are gone and have left Zones, Delegations or Records, which are still served: "+strings.Join(texts, ", "),
		"create the namespace again, or delete its objects: kubectl delete records,delegations,zones --all -n NAMESPACE")
}
