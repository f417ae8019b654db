// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	certutil "k8s.io/client-go/util/cert"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"kubi.zone/kubizone/pkg/etcd/maintenance"
)

// automanaged is the label of an APIService that kube-apiserver makes, and restores, for a CustomResourceDefinition.
const automanaged = "kube-aggregator.kubernetes.io/automanaged"

// expirySoon is the remaining lifetime at which a certificate should have been renewed: leaves are renewed with a third
// left.
const expirySoon = 14 * 24 * time.Hour

// formatCheck is the check of /readyz that fails if a server does not read the format of the store (pkg/cmd/apiserver).
const formatCheck = "format"

const install = "helm install kubizone charts/kubizone -n kubizone-system, or kubectl apply -k artifacts/deploy/embedded (docs/install.md)"

// judgeFacts decides the findings, in the order of the path of a request (D4).
func judgeFacts(f *facts, now time.Time) []Finding {
	if f.versionErr != nil {
		return []Finding{fail("kube-apiserver", "it does not answer: "+f.versionErr.Error(), "check --kubeconfig and --context; "+
			"nothing else can be checked without it")}
	}
	if f.standalone() {
		return []Finding{
			ok("version", "this is kubizone up ("+f.version+"), which needs no installation: APIServices, endpoints, "+
				"certificates and Roles are not looked at"),
			f.judgeReady(), f.judgeEtcd(),
		}
	}
	findings := []Finding{f.judgeVersion(), f.judgeAPIService()}
	if f.registration != nil {
		findings = append(findings, f.judgeAvailable(), f.judgeFleet())
	}
	findings = append(findings, f.judgeEndpoints())
	if f.registration != nil {
		findings = append(findings, f.judgeCABundle(now))
	}
	findings = append(findings, f.judgeCertificate(now), f.judgePermissions(), f.judgeReady(), f.judgeEtcd())
	if f.registration != nil {
		findings = append(findings, f.judgeAnswer())
	}
	return append(findings, f.judgeNamespaces())
}

func ok(check, message string) Finding { return Finding{Check: check, Status: OK, Message: message} }

func warn(check, message, next string) Finding {
	return Finding{Check: check, Status: Warn, Message: message, Next: next}
}

func fail(check, message, next string) Finding {
	return Finding{Check: check, Status: Fail, Message: message, Next: next}
}

// notChecked is the finding for a fact that could not be read (D1).
func notChecked(check, what string, err error) Finding {
	next := "run this again when kube-apiserver answers"
	if apierrors.IsForbidden(err) {
		next = "run this as a user with permission to read it"
	}
	return warn(check, what+" could not be read: "+err.Error(), next)
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

func (f *facts) judgeAPIService() Finding {
	const check = "apiservice"
	switch {
	case apierrors.IsNotFound(f.registrationErr):
		return fail(check, f.name+" does not exist: kubectl does not know zones", install)
	case f.registrationErr != nil:
		return notChecked(check, f.name, f.registrationErr)
	case f.registration.Spec.Service == nil:
		return fail(check, f.name+" names no service: it serves a CustomResourceDefinition of an older kubizone",
			"follow docs/migration.md: take the label "+automanaged+" off and apply the manifest")
	case f.registration.Labels[automanaged] != "":
		return fail(check, f.name+" has the label "+automanaged+" of a CustomResourceDefinition: kube-apiserver puts the old spec back",
			"kubectl label apiservice "+f.name+" "+automanaged+"- and apply the manifest again")
	case f.registration.Spec.InsecureSkipTLSVerify:
		return fail(check, f.name+" has insecureSkipTLSVerify: any host at that address can act as the server",
			"set it to false; the server writes caBundle")
	}
	namespace, service, port := f.serviceRef()
	return ok(check, fmt.Sprintf("%s is served by service %s/%s, port %d", f.name, namespace, service, port))
}

// nextByReason is the next step for an APIService that is not available, by the reason that kube-apiserver gives.
var nextByReason = map[string]string{
	"ServiceNotFound":      "make the service: " + install,
	"ServiceAccessError":   "kube-apiserver cannot read services: look at its log",
	"ServicePortError":     "make the port of the APIService one of the service's: apply the manifest again",
	"EndpointsNotFound":    "see endpoints below: no pod is selected by the service, or none was ever ready",
	"EndpointsAccessError": "kube-apiserver cannot read endpoint slices: look at its log",
	"MissingEndpoints":     "see endpoints below: none is ready",
	"FailedDiscoveryCheck": "kube-apiserver gets no valid answer, see the message: a timeout is a firewall or NetworkPolicy between " +
		"control plane and pods (open TCP 10250, or choose another --secure-port), a certificate error is under cabundle and certificate " +
		"below, 401 and 403 are under permissions",
}

func (f *facts) judgeAvailable() Finding {
	const check = "available"
	for _, condition := range f.registration.Status.Conditions {
		if condition.Type != apiregistrationv1.Available {
			continue
		}
		if condition.Status == apiregistrationv1.ConditionTrue {
			return ok(check, "kube-apiserver has said so since "+condition.LastTransitionTime.UTC().Format(time.RFC3339))
		}
		next := nextByReason[condition.Reason]
		if next == "" {
			next = "see the checks below"
		}
		return fail(check, fmt.Sprintf("kube-apiserver says %s: %s", condition.Reason, condition.Message), next)
	}
	return warn(check, "kube-apiserver has set no condition yet", "wait a few seconds and run this again")
}

// judgeFleet judges the registration of BIND 9 servers, which is to be as that of zones: one server serves both.
func (f *facts) judgeFleet() Finding {
	const check = "apiservice-bind9"
	if apierrors.IsNotFound(f.fleetErr) {
		return warn(check, fleetAPIService+" does not exist: kubectl does not know Bind9Clusters and Bind9Instances", install)
	}
	if f.fleetErr != nil {
		return notChecked(check, fleetAPIService, f.fleetErr)
	}
	there, here := f.fleet.Spec, f.registration.Spec
	switch {
	case there.Service == nil || here.Service != nil && (there.Service.Namespace != here.Service.Namespace ||
		there.Service.Name != here.Service.Name):
		return fail(check, fleetAPIService+" is not served by the service of "+f.name, "make the services equal: apply the manifest again")
	case there.InsecureSkipTLSVerify:
		return fail(check, fleetAPIService+" has insecureSkipTLSVerify: any host at that address can act as the server",
			"set it to false; the server writes caBundle")
	case !bytes.Equal(there.CABundle, here.CABundle):
		return fail(check, fleetAPIService+" has another caBundle than "+f.name, "the server writes both where it runs with --apiservice="+
			f.name+","+fleetAPIService+": apply the manifest again, and wait half a minute")
	}
	for _, condition := range f.fleet.Status.Conditions {
		if condition.Type == apiregistrationv1.Available && condition.Status != apiregistrationv1.ConditionTrue {
			next := nextByReason[condition.Reason]
			if next == "" {
				next = "see the checks below"
			}
			return fail(check, fmt.Sprintf("kube-apiserver says %s: %s", condition.Reason, condition.Message), next)
		}
	}
	return ok(check, fleetAPIService+" is registered as "+f.name+" is")
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
			if isReady(endpoint) {
				ready++
			}
		}
	}
	switch {
	case all == 0:
		return fail(check, "the service selects no pod", "kubectl get pods,statefulsets,deployments -n "+namespace+" shows whether there "+
			"is one; the selector must be a label of its")
	case ready == 0:
		return fail(check, fmt.Sprintf("none of %d is ready", all), look)
	case ready < all:
		return warn(check, fmt.Sprintf("%d of %d are ready", ready, all), look+"; the others serve")
	}
	return ok(check, fmt.Sprintf("%d ready", ready))
}

func isReady(endpoint discoveryv1.Endpoint) bool {
	return endpoint.Conditions.Ready == nil || *endpoint.Conditions.Ready
}

func (f *facts) judgeCABundle(now time.Time) Finding {
	const check = "cabundle"
	if len(f.registration.Spec.CABundle) == 0 {
		next := "the server writes it when it starts with --serving-cert-secret and --apiservice: see permissions, " +
			"and the pods of the server"
		if f.byCertManager() {
			next = "cert-manager's cainjector writes it: look at its log, and at the Certificate"
		}
		return fail(check, "it is empty: kube-apiserver trusts no certificate of the server", next)
	}
	certs, err := certutil.ParseCertsPEM(f.registration.Spec.CABundle)
	if err != nil {
		return fail(check, "it is not PEM: "+err.Error(), "take it out of the manifest; the server writes it")
	}
	last := slices.MaxFunc(certs, func(a, b *x509.Certificate) int { return a.NotAfter.Compare(b.NotAfter) })
	switch {
	case now.After(last.NotAfter):
		return fail(check, "its authority expired on "+last.NotAfter.UTC().Format(time.DateOnly), "delete the Secret "+servingSecret+
			" and the server makes a new one")
	case now.Add(expirySoon).After(last.NotAfter):
		return warn(check, "its authority expires on "+last.NotAfter.UTC().Format(time.DateOnly), "delete the Secret "+servingSecret+
			" and the server makes a new one")
	}
	return ok(check, fmt.Sprintf("%d authorities, good until %s", len(certs), last.NotAfter.UTC().Format(time.DateOnly)))
}

// judgeCertificate checks the certificate that is served, or that of the Secret if no address can be reached.
func (f *facts) judgeCertificate(now time.Time) Finding {
	const check = "certificate"
	namespace, service, _ := f.serviceRef()
	host := service + "." + namespace + ".svc"
	roots := x509.NewCertPool()
	if f.registration != nil {
		roots.AppendCertsFromPEM(f.registration.Spec.CABundle)
	}
	trusted := func(chain []*x509.Certificate, from string) *Finding {
		if begin := chain[0].NotBefore; now.Before(begin) {
			finding := fail(check, fmt.Sprintf("the certificate of %s is valid from %s on, and here it is %s", from,
				begin.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339)),
				"the clocks differ: compare those of the server, of kube-apiserver and of this machine")
			return &finding
		}
		between := x509.NewCertPool()
		for _, cert := range chain[1:] {
			between.AddCert(cert)
		}
		if _, err := chain[0].Verify(x509.VerifyOptions{DNSName: host, Roots: roots, Intermediates: between,
			CurrentTime: now}); err != nil {
			finding := fail(check, fmt.Sprintf("kube-apiserver does not trust the certificate of %s for %s: %v", from, host, err),
				"see permissions: the server must be able to write caBundle; with certificates of your own, "+
					"put their authority into caBundle and "+host+" into their names")
			return &finding
		}
		if now.Add(expirySoon).After(chain[0].NotAfter) {
			finding := warn(check, "the certificate of "+from+" expires on "+chain[0].NotAfter.UTC().Format(time.DateOnly),
				"it should have been renewed: see the log of the server, or of cert-manager")
			return &finding
		}
		return nil
	}
	seen := 0
	for _, a := range f.answers {
		if len(a.chain) == 0 {
			continue
		}
		seen++
		if finding := trusted(a.chain, a.from); finding != nil {
			return *finding
		}
	}
	if seen > 0 {
		return ok(check, fmt.Sprintf("%d addresses serve a certificate that kube-apiserver trusts for %s", seen, host))
	}
	switch {
	case f.secret != nil:
		chain, err := certutil.ParseCertsPEM(f.secret.Data[corev1.TLSCertKey])
		if err != nil {
			return fail(check, "secret "+namespace+"/"+servingSecret+" has no readable certificate: "+err.Error(),
				"delete the Secret and the server makes a new one")
		}
		if finding := trusted(chain, "secret "+servingSecret); finding != nil {
			return *finding
		}
		return ok(check, "secret "+servingSecret+" has a certificate that kube-apiserver trusts for "+host)
	case apierrors.IsNotFound(f.secretErr):
		return warn(check, "no address of the server can be reached from here, and there is no secret "+servingSecret,
			"if the server should make one: see permissions")
	default:
		return notChecked(check, "secret "+servingSecret, f.secretErr)
	}
}

// isMember reports that the pods make their peer certificate, as those of the form ha do.
func (f *facts) isMember() bool {
	return slices.ContainsFunc(f.pods, func(pod corev1.Pod) bool {
		return slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool {
			return slices.Contains(c.Args,
				"peer-certificate")
		})
	})
}

func (f *facts) judgePermissions() Finding {
	const check = "permissions"
	if f.refusedErr != nil {
		return notChecked(check, "permissions of "+f.account, f.refusedErr)
	}
	var texts []string
	for _, rule := range f.refused {
		if rule.Certificate && f.byCertManager() || rule.Peers && !f.isMember() {
			continue
		}
		text := rule.String()
		if rule.Namespace != "" {
			text += " in namespace " + rule.Namespace
		}
		texts = append(texts, text+": "+rule.Purpose)
	}
	if len(texts) > 0 {
		return fail(check, f.account+" lacks "+strings.Join(texts, "; "), "install the rules of this version: helm upgrade, "+
			"or kubectl apply -f artifacts/deploy/base/rbac.yaml")
	}
	return ok(check, f.account+" has what it needs")
}

// failingChecks lists the failed checks in the verbose answer of a health path.
func failingChecks(text string) []string {
	var names []string
	for line := range strings.Lines(text) {
		if name, failed := strings.CutPrefix(strings.TrimSpace(line), "[-]"); failed {
			name, _, _ = strings.Cut(name, " ")
			names = append(names, name)
		}
	}
	return names
}

// judgeReady reads /readyz?verbose, which lists the checks of the server.
func (f *facts) judgeReady() Finding {
	const check = "ready"
	var troubles, unreached []string
	etcd, outgrown := false, false
	answered := 0
	for _, a := range f.answers {
		if !isChecks(a.readyz) {
			text := "not an answer of /readyz"
			if a.err != nil {
				text = a.err.Error()
			}
			unreached = append(unreached, a.from+": "+text)
			continue
		}
		answered++
		for _, name := range failingChecks(a.readyz) {
			etcd, outgrown = etcd || strings.HasPrefix(name, "etcd"), outgrown || name == formatCheck
			if text := a.from + ": " + name; !slices.Contains(troubles, text) {
				troubles = append(troubles, text)
			}
		}
	}
	switch {
	case len(troubles) > 0 && outgrown:
		return fail(check, "failing checks: "+strings.Join(troubles, ", "), "the servers do not read the format of the store: "+
			"let the version that wrote it replace them (kubectl rollout status), or restore a backup of theirs")
	case len(troubles) > 0 && etcd:
		return fail(check, "failing checks: "+strings.Join(troubles, ", "), "etcd does not answer, or has no space or no quorum: "+
			"check its members, disks and certificates, and the log of the server")
	case len(troubles) > 0:
		return fail(check, "failing checks: "+strings.Join(troubles, ", "), "the log of the server says why")
	case answered > 0:
		return ok(check, fmt.Sprintf("/readyz of %d addresses passes every check, etcd included", answered))
	case len(unreached) > 0:
		return warn(check, "no server reachable from here: "+strings.Join(unreached, "; "), "usual from outside the cluster; "+
			"run this where pods can be reached, or as a user with permission for pods/proxy")
	}
	return warn(check, "no server reachable: the Service has no endpoint and no pod runs", "see endpoints")
}

// judgeEtcd reads /healthz?verbose, which has etcd's alarms. A server with an alarm may be ready: reads continue.
func (f *facts) judgeEtcd() Finding {
	const check = "etcd"
	said := map[string][]string{}
	answered := 0
	for _, a := range f.answers {
		if !isChecks(a.health) {
			continue
		}
		answered++
		for _, name := range failingChecks(a.health) {
			said[name] = append(said[name], a.from)
		}
	}
	corrupt, full := said[maintenance.HealthCorrupt], said[maintenance.HealthSpace]
	switch {
	case len(corrupt) > 0:
		return fail(check, "its members hold different data and answer nothing (alarm CORRUPT), according to "+strings.Join(corrupt, ", "),
			"the log of these servers names the members that say so: find the one that differs, replace it as a lost one, "+
				"and take the alarm back (docs/operations.md, CORRUPT)")
	case len(full) > 0:
		return fail(check, "it is full and takes no writes (alarm NOSPACE), according to "+strings.Join(full, ", "),
			"the servers make room by themselves within a minute; if their log says that live data exceeds the quota, "+
				"raise the quota of etcd (docs/operations.md, NOSPACE)")
	case answered > 0:
		return ok(check, fmt.Sprintf("no alarm, according to %d addresses", answered))
	}
	return warn(check, "no server reachable; etcd's alarms unknown", "see ready")
}

func (f *facts) judgeAnswer() Finding {
	const check = "api"
	if f.discovery != nil {
		return fail(check, "through kube-apiserver: "+f.discovery.Error(), "repair the first FAIL above; this is its consequence")
	}
	return ok(check, "kube-apiserver passes requests on and gets answers")
}

// judgeNamespaces names the namespaces that are gone and have left objects: kube-controller-manager empties a namespace
// before it goes, so these were restored from a backup, or their namespace was finalised by force (S8.3).
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
		"make the namespace again, or remove what it left: kubectl delete records,delegations,zones --all -n NAMESPACE")
}
