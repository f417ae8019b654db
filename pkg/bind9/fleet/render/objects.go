// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"maps"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	coreac "k8s.io/client-go/applyconfigurations/core/v1"
	metaac "k8s.io/client-go/applyconfigurations/meta/v1"
	networkingac "k8s.io/client-go/applyconfigurations/networking/v1"
	policyac "k8s.io/client-go/applyconfigurations/policy/v1"
	rbacac "k8s.io/client-go/applyconfigurations/rbac/v1"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
)

var (
	ServiceAccounts = corev1.SchemeGroupVersion.WithResource("serviceaccounts")
	Secrets         = corev1.SchemeGroupVersion.WithResource("secrets")
	ConfigMaps      = corev1.SchemeGroupVersion.WithResource("configmaps")
	Services        = corev1.SchemeGroupVersion.WithResource("services")
	Deployments     = appsv1.SchemeGroupVersion.WithResource("deployments")
	StatefulSets    = appsv1.SchemeGroupVersion.WithResource("statefulsets")
	NetworkPolicies = networkingv1.SchemeGroupVersion.WithResource("networkpolicies")
	Disruptions     = policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets")
	Roles           = rbacv1.SchemeGroupVersion.WithResource("roles")
	RoleBindings    = rbacv1.SchemeGroupVersion.WithResource("rolebindings")
)

type Object struct {
	Resource schema.GroupVersionResource
	Name     string
	Config   any
}

const (
	labelPrefix = bind9.GroupName + "/"

	LabelManager      = "app.kubernetes.io/managed-by"
	Manager           = "kubizone-fleet"
	LabelInstallation = labelPrefix + "installation"
	// AnnotationOwner is the owner's KIND/NAME in our API.
	AnnotationOwner    = labelPrefix + "owner"
	AnnotationOwnerUID = labelPrefix + "owner-uid"
	// A new control key replaces the pod.
	annotationControl = labelPrefix + "control-key"
	// annotationConfig has a hash of the configuration. Without an agent that can reload BIND, a change replaces the
	// pods.
	annotationConfig   = labelPrefix + "config-hash"
	AnnotationTemplate = labelPrefix + "template-hash"
)

func (s *Server) selector() map[string]string {
	return map[string]string{bind9.LabelInstance: s.Name, LabelInstallation: s.Platform.Installation}
}

func roleSelector(cluster string, role bind9.Role, platform *Platform) map[string]string {
	return map[string]string{bind9.LabelCluster: cluster, bind9.LabelRole: strings.ToLower(string(role)),
		LabelInstallation: platform.Installation}
}

func (s *Server) labels() map[string]string {
	labels := s.selector()
	labels["app.kubernetes.io/name"] = "bind9"
	labels["app.kubernetes.io/component"] = "dns-server"
	labels[LabelManager] = Manager
	labels[bind9.LabelRole] = strings.ToLower(string(s.Role))
	if s.Cluster != "" {
		labels[bind9.LabelCluster] = s.Cluster
	}
	return labels
}

func (s *Server) owner() map[string]string {
	return Owner{KindInstance, s.Name, s.UID}.annotations()
}

func RNDCSecretName(instance string) string  { return instance + "-rndc-key" }
func AgentSecretName(instance string) string { return instance + "-agent" }

func TransferSecretName(group string) string { return group + "-tsig" }

// Objects returns a BIND server's Kubernetes objects, without the TSIG Secret shared in a cluster (TransferObjects).
// The workload is last, because its pods use the others.
func (s *Server) Objects() ([]Object, error) {
	files, err := s.Files()
	if err != nil {
		return nil, err
	}
	keys, err := s.KeyFiles()
	if err != nil {
		return nil, err
	}
	objects := []Object{
		{ServiceAccounts, s.Name, coreac.ServiceAccount(s.Name, s.Namespace).WithLabels(s.labels()).WithAnnotations(
			s.owner()).WithAutomountServiceAccountToken(false)},
		s.controlSecret(keys),
		{Secrets, AgentSecretName(s.Name), coreac.Secret(AgentSecretName(s.Name), s.Namespace).WithLabels(s.labels()).WithAnnotations(
			s.owner()).
			WithType(corev1.SecretTypeOpaque).WithData(map[string][]byte{
			dataToken: []byte(s.Access.Token), corev1.TLSCertKey: s.Access.Certificate, corev1.TLSPrivateKeyKey: s.Access.PrivateKey,
			dataAuthority: s.Access.Authority,
		})},
		{ConfigMaps, s.Name + "-config", coreac.ConfigMap(s.Name+"-config", s.Namespace).WithLabels(s.labels()).WithAnnotations(
			s.owner()).WithData(files)},
		s.dnsService(),
		s.agentService(),
		s.networkPolicy(),
	}
	objects = append(objects, s.agentReaders()...)
	return append(objects, s.renderWorkload(files)), nil
}

// With the TSIG keys here, pods need not mount the group's Secret.
func (s *Server) controlSecret(files map[string]string) Object {
	data := s.Control.data(dataKeyName, "")
	for file, text := range files {
		data[file] = []byte(text)
	}
	secret := coreac.Secret(RNDCSecretName(s.Name), s.Namespace).WithLabels(s.labels()).WithAnnotations(s.owner()).
		WithType(corev1.SecretTypeOpaque).WithData(data)
	return Object{Secrets, RNDCSecretName(s.Name), secret}
}

// Readers of the Secret also accept the keys with a prefix.
func transferSecret(namespace string, owner Owner, keys TransferKeys, platform *Platform) Object {
	data := keys.data(dataTSIGName, "")
	for prefix, other := range map[string]*Key{dataNext: keys.Next, dataFormer: keys.Former} {
		if other != nil {
			maps.Copy(data, other.data(dataTSIGName, prefix))
		}
	}
	name := TransferSecretName(owner.Name)
	secret := coreac.Secret(name, namespace).WithLabels(owner.labels(platform)).WithAnnotations(owner.annotations()).WithAnnotations(
		keys.annotations()).
		WithType(corev1.SecretTypeOpaque).WithData(data)
	return Object{Secrets, name, secret}
}

func TransferObjects(namespace string, owner Owner, keys TransferKeys, platform *Platform) []Object {
	return append([]Object{transferSecret(namespace, owner, keys, platform)}, transferReaders(namespace, owner, platform)...)
}

func transferReaders(namespace string, owner Owner, platform *Platform) []Object {
	return renderReaders(namespace, TransferSecretName(owner.Name), owner.labels(platform), owner.annotations(), platform.KeyReaders)
}

// agentReaders is for signers alone, because classes permit the use of other agents.
func (s *Server) agentReaders() []Object {
	if s.Role != bind9.RoleSigner {
		return nil
	}
	return renderReaders(s.Namespace, AgentSecretName(s.Name), s.labels(), s.owner(), s.Platform.AgentReaders)
}

// The fleet can grant only its own permissions.
func renderReaders(namespace, secret string, labels, annotations map[string]string, readers []types.NamespacedName) []Object {
	if len(readers) == 0 {
		return nil
	}
	role := rbacac.Role(secret, namespace).WithLabels(labels).WithAnnotations(annotations).
		WithRules(rbacac.PolicyRule().WithAPIGroups("").WithResources("secrets").WithResourceNames(secret).WithVerbs("get", "watch"))
	binding := rbacac.RoleBinding(secret, namespace).WithLabels(labels).WithAnnotations(annotations).
		WithRoleRef(rbacac.RoleRef().WithAPIGroup(rbacv1.GroupName).WithKind("Role").WithName(secret))
	for _, reader := range readers {
		binding.WithSubjects(rbacac.Subject().WithKind(rbacv1.ServiceAccountKind).WithNamespace(reader.Namespace).WithName(reader.Name))
	}
	return []Object{{Roles, secret, role}, {RoleBindings, secret, binding}}
}

// dnsService returns the Service at which clients query the server, over UDP and TCP.
func (s *Server) dnsService() Object {
	spec := coreac.ServiceSpec().
		WithType(corev1.ServiceType(cmp.Or(s.Service.Type, bind9.ServiceClusterIP))).
		WithSelector(s.selector()).
		WithIPFamilyPolicy(corev1.IPFamilyPolicyPreferDualStack).
		WithPorts(
			coreac.ServicePort().WithName("dns-udp").WithProtocol(corev1.ProtocolUDP).WithPort(53).WithTargetPort(
				intstr.FromString("dns-udp")),
			coreac.ServicePort().WithName("dns-tcp").WithProtocol(corev1.ProtocolTCP).WithPort(53).WithTargetPort(
				intstr.FromString("dns-tcp")),
		)
	spec.ExternalTrafficPolicy = optional(corev1.ServiceExternalTrafficPolicy(s.Service.ExternalTrafficPolicy))
	spec.WithLoadBalancerSourceRanges(s.Service.LoadBalancerSourceRanges...)
	service := coreac.Service(s.Name, s.Namespace).WithLabels(s.labels()).WithAnnotations(s.Service.Annotations).WithAnnotations(
		s.owner()).WithSpec(spec)
	return Object{Services, s.Name, service}
}

// The agent has a separate Service, since the DNS Service may be a load balancer.
func (s *Server) agentService() Object {
	name := s.Name + "-agent"
	spec := coreac.ServiceSpec().WithType(corev1.ServiceTypeClusterIP).WithSelector(s.selector()).WithIPFamilyPolicy(
		corev1.IPFamilyPolicyPreferDualStack).
		WithPorts(coreac.ServicePort().WithName("https").WithProtocol(corev1.ProtocolTCP).WithPort(443).WithTargetPort(
			intstr.FromString("https")))
	return Object{Services, name, coreac.Service(name, s.Namespace).WithLabels(s.labels()).WithAnnotations(s.owner()).WithSpec(spec)}
}

// networkPolicy admits DNS from everywhere, and the agent's port only from the namespace of Kubizone's controller.
func (s *Server) networkPolicy() Object {
	port := func(protocol corev1.Protocol, of string) *networkingac.NetworkPolicyPortApplyConfiguration {
		return networkingac.NetworkPolicyPort().WithProtocol(protocol).WithPort(intstr.FromString(of))
	}
	kubizone := networkingac.NetworkPolicyPeer().WithNamespaceSelector(metaac.LabelSelector().WithMatchLabels(
		map[string]string{corev1.LabelMetadataName: s.Platform.ClientNamespace}))
	ingress := []*networkingac.NetworkPolicyIngressRuleApplyConfiguration{
		networkingac.NetworkPolicyIngressRule().WithPorts(port(corev1.ProtocolUDP, "dns-udp"), port(corev1.ProtocolTCP, "dns-tcp")),
		networkingac.NetworkPolicyIngressRule().WithFrom(kubizone).WithPorts(port(corev1.ProtocolTCP, "https")),
	}
	spec := networkingac.NetworkPolicySpec().WithPodSelector(metaac.LabelSelector().WithMatchLabels(s.selector())).
		WithPolicyTypes(networkingv1.PolicyTypeIngress).WithIngress(ingress...)
	return Object{NetworkPolicies, s.Name, networkingac.NetworkPolicy(s.Name, s.Namespace).WithLabels(s.labels()).WithAnnotations(
		s.owner()).WithSpec(spec)}
}

type Owner struct {
	Kind, Name string
	UID        types.UID
}

const (
	KindInstance = "Bind9Instance"
	KindCluster  = "Bind9Cluster"
)

func (o Owner) labels(platform *Platform) map[string]string {
	of := bind9.LabelCluster
	if o.Kind == KindInstance {
		of = bind9.LabelInstance
	}
	return map[string]string{of: o.Name, LabelManager: Manager, LabelInstallation: platform.Installation, "app.kubernetes.io/name": "bind9"}
}

func (o Owner) annotations() map[string]string {
	return map[string]string{AnnotationOwner: o.Kind + "/" + o.Name, AnnotationOwnerUID: string(o.UID)}
}

// Disruption limits evictions to one server of a role of the cluster at a time.
func Disruption(namespace string, cluster Owner, role bind9.Role, platform *Platform) Object {
	name := cluster.Name + "-" + strings.ToLower(string(role))
	spec := policyac.PodDisruptionBudgetSpec().WithMaxUnavailable(intstr.FromInt32(1)).
		WithSelector(metaac.LabelSelector().WithMatchLabels(roleSelector(cluster.Name, role, platform))).
		// An unready pod would block the drain of its node.
		WithUnhealthyPodEvictionPolicy(policyv1.AlwaysAllow)
	return Object{Disruptions, name, policyac.PodDisruptionBudget(name, namespace).WithLabels(cluster.labels(platform)).WithAnnotations(
		cluster.annotations()).WithSpec(spec)}
}
