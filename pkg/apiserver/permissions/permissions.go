// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package permissions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mutatingadmissionpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	validatingadmissionpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	mutatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
	validatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/validating"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
)

const (
	askPause   = 5 * time.Second
	checkPause = time.Minute
)

type Rule struct {
	group, resource, subresource string
	namespace, name              string
	verbs                        []string
	purpose                      string
	// Without an optional rule the server is still ready.
	optional bool
}

// String returns the rule as in a Role, such as {apiGroups: [""], resources: ["namespaces"], verbs: [get, list,
// watch]}, to copy.
func (r Rule) String() string {
	resource := r.resource
	if r.subresource != "" {
		resource += "/" + r.subresource
	}
	text := fmt.Sprintf("{apiGroups: [%q], resources: [%q], verbs: [%s]", r.group, resource, strings.Join(r.verbs, ", "))
	if r.name != "" {
		text += fmt.Sprintf(", resourceNames: [%q]", r.name)
	}
	text += "}"
	if r.namespace != "" {
		text += " in namespace " + r.namespace
	}
	return text
}

// ConfigMap of kube-system has the CAs of client certificates.
const ConfigMap = "extension-apiserver-authentication"

var informed = []string{"get", "list", "watch"}

var (
	TokenReviews = []Rule{
		{group: "authentication.k8s.io", resource: "tokenreviews", verbs: []string{"create"}, purpose: "no request with a token is " +
			"authenticated"},
	}
	AuthenticationConfig = []Rule{
		{resource: "configmaps", namespace: metav1.NamespaceSystem, name: ConfigMap, verbs: informed,
			purpose: "kube-apiserver's aggregator and client certificates cannot be verified"},
	}
	AccessReviews = []Rule{
		{group: "authorization.k8s.io", resource: "subjectaccessreviews", verbs: []string{"create"}, purpose: "no user outside of " +
			"system:masters is allowed anything"},
	}
	Namespaces = []Rule{
		{resource: "namespaces", verbs: informed, purpose: "nothing can be created, and namespaces that are gone are not noticed"},
	}
	Events = []Rule{
		{group: "events.k8s.io", resource: "events", verbs: []string{"create", "patch"}, optional: true, purpose: "no Event tells which " +
			"zones are held, or what the rules of a zone allow no more"},
	}
	FlowControl = []Rule{
		{group: "flowcontrol.apiserver.k8s.io", resource: "flowschemas", verbs: informed, purpose: "priority and fairness has no " +
			"configuration"},
		{group: "flowcontrol.apiserver.k8s.io", resource: "prioritylevelconfigurations", verbs: informed, purpose: "priority and " +
			"fairness has no configuration"},
		{group: "flowcontrol.apiserver.k8s.io", resource: "flowschemas", subresource: "status", verbs: []string{"patch"},
			purpose: "priority and fairness cannot report errors in its configuration"},
	}
)

var admissionRules = map[string][]Rule{
	mutatingadmissionpolicy.PluginName: {
		{group: "admissionregistration.k8s.io", resource: "mutatingadmissionpolicies", verbs: informed, purpose: "every write is refused"},
		{group: "admissionregistration.k8s.io", resource: "mutatingadmissionpolicybindings", verbs: informed,
			purpose: "every write is refused"},
	},
	mutatingwebhook.PluginName: {
		{group: "admissionregistration.k8s.io", resource: "mutatingwebhookconfigurations", verbs: informed,
			purpose: "every write is refused"},
	},
	validatingadmissionpolicy.PluginName: {
		{group: "admissionregistration.k8s.io", resource: "validatingadmissionpolicies", verbs: informed,
			purpose: "every write is refused"},
		{group: "admissionregistration.k8s.io", resource: "validatingadmissionpolicybindings", verbs: informed,
			purpose: "every write is refused"},
	},
	resourcequota.PluginName: {
		{resource: "resourcequotas", verbs: informed, purpose: "every write is refused"},
		{resource: "resourcequotas", subresource: "status", verbs: []string{"update"}, purpose: "nothing can be created in a namespace " +
			"with a quota of our objects"},
	},
	validatingwebhook.PluginName: {
		{group: "admissionregistration.k8s.io", resource: "validatingwebhookconfigurations", verbs: informed,
			purpose: "every write is refused"},
	},
}

type Checker struct {
	Needs []Need

	mutex    sync.Mutex
	notReady error // nil for good once a check has passed
	first    error // the first rule in notReady; nil if kube-apiserver does not answer
	asked    bool
	missing  []string // at the last answer
}

// Need lists the rules that the identity in a flag's kubeconfig needs.
type Need struct {
	Flag   string
	Client kubernetes.Interface
	Rules  []Rule
}

// Run asks for the permissions until ctx ends: often while some is missing, and then each checkPause. A message is
// logged when it changes.
func (p *Checker) Run(ctx context.Context) {
	var logged string
	for {
		required, optional, err := p.Ask(ctx)
		if ctx.Err() != nil {
			return
		}
		p.noteAnswer(required, optional, err)
		pause := askPause
		switch err := errors.Join(append(required, err)...); {
		case err == nil:
			logged, pause = "", checkPause
		case err.Error() != logged:
			logged = err.Error()
			klog.FromContext(ctx).Error(err, "This server lacks permissions at kube-apiserver; it asks again until it has them",
				"pause", askPause)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// errUnanswered stands for an error of kube-apiserver, whose text has addresses, because anonymous clients read the
// error of Check.
var errUnanswered = errors.New("kube-apiserver does not answer this server; see its log")

// noteAnswer keeps an answer for Check, List and FirstMissing. err is not nil if kube-apiserver did not answer.
func (p *Checker) noteAnswer(required, optional []error, err error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	// A server that was ready once stays ready: a later fault of kube-apiserver must not take all replicas out of the
	// Service.
	if held := p.asked && p.notReady == nil; !held {
		p.asked, p.notReady, p.first = true, errors.Join(required...), cmp.Or(required...)
		if err != nil {
			p.notReady, p.first = errUnanswered, nil
		}
	}
	if err != nil {
		return // kube-apiserver does not answer
	}
	p.missing = nil
	for _, one := range slices.Concat(required, optional) {
		p.missing = append(p.missing, one.Error())
	}
}

// FirstMissing returns the first rule without which the server is not ready, or that kube-apiserver does not answer,
// with the next step; "" if neither is known. Neither text has an address.
func (p *Checker) FirstMissing() (fault, step string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	switch {
	case p.notReady == nil:
		return "", ""
	case p.first == nil:
		return p.notReady.Error(), "let the server reach kube-apiserver through NetworkPolicies and firewalls"
	}
	return p.first.Error(), "have a cluster admin apply the RBAC rules of this version"
}

func (p *Checker) List() []string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.missing
}

func (p *Checker) Check() error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if !p.asked {
		return errors.New("not asked yet")
	}
	return p.notReady
}

// Ask returns the missing rules, or an error if kube-apiserver does not answer.
func (p *Checker) Ask(ctx context.Context) (required, optional []error, err error) {
	for _, need := range p.Needs {
		for _, one := range need.Rules {
			var missing []string
			for _, verb := range one.verbs {
				allowed, err := askPermission(ctx, need.Client, one, verb)
				if err != nil {
					return nil, nil, fmt.Errorf("asking kube-apiserver what the identity of %s may do there: %w", need.Flag, err)
				}
				if !allowed {
					missing = append(missing, verb)
				}
			}
			if len(missing) == 0 {
				continue
			}
			short, into := one, &required
			if short.verbs = missing; one.optional {
				into = &optional
			}
			*into = append(*into, fmt.Errorf("the identity of %s lacks the RBAC rule %s: %s", need.Flag, short, one.purpose))
		}
	}
	return required, optional, nil
}

// askPermission asks kube-apiserver whether the client's own identity has a verb of a rule.
func askPermission(ctx context.Context, client kubernetes.Interface, one Rule, verb string) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Group: one.group, Resource: one.resource, Subresource: one.subresource,
			Namespace: one.namespace, Name: one.name, Verb: verb,
		},
	}}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	answer, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return answer.Status.Allowed, nil
}

func OfAdmission(plugins []string) []Rule {
	var rules []Rule
	for _, plugin := range plugins {
		rules = append(rules, admissionRules[plugin]...)
	}
	return rules
}
