// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsac "k8s.io/client-go/applyconfigurations/apps/v1"
	coreac "k8s.io/client-go/applyconfigurations/core/v1"
	metaac "k8s.io/client-go/applyconfigurations/meta/v1"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
)

const (
	user               = 101
	drainSeconds       = 5
	terminationSeconds = 30

	configVolume, stateVolume, tmpVolume = "config", "state", "tmp"

	BINDContainer, AgentContainer = "bind9", "agent"
)

func (s *Server) Workload() schema.GroupVersionResource {
	if storage := s.Settings.Storage; storage != nil && storage.Type == bind9.StoragePersistentVolumeClaim {
		return StatefulSets
	}
	return Deployments
}

// renderWorkload returns the Deployment of the server's pods. A server with a volume claim gets a StatefulSet, because
// the new pod of a Deployment would wait for the old pod's volume.
func (s *Server) renderWorkload(files map[string]string) Object {
	template := s.podTemplate(files)
	annotations := s.owner()
	annotations[AnnotationTemplate] = hashTemplate(template)
	selector := metaac.LabelSelector().WithMatchLabels(s.selector())

	if s.Workload() == Deployments {
		// If each pod requires a node of its own, there may be no node for a second pod, so the old pod stops first.
		rolling := appsac.RollingUpdateDeployment().WithMaxSurge(intstr.FromInt32(1)).WithMaxUnavailable(intstr.FromInt32(0))
		if s.GoesFirst() {
			rolling = appsac.RollingUpdateDeployment().WithMaxSurge(intstr.FromInt32(0)).WithMaxUnavailable(intstr.FromInt32(1))
		}
		spec := appsac.DeploymentSpec().WithReplicas(s.Replicas).WithSelector(selector).WithTemplate(template).WithRevisionHistoryLimit(2).
			WithStrategy(appsac.DeploymentStrategy().WithType(appsv1.RollingUpdateDeploymentStrategyType).WithRollingUpdate(rolling))
		return Object{Deployments, s.Name, appsac.Deployment(s.Name, s.Namespace).WithLabels(s.labels()).WithAnnotations(
			annotations).WithSpec(spec)}
	}

	storage := s.Settings.Storage
	claim := coreac.PersistentVolumeClaimSpec().WithAccessModes(corev1.ReadWriteOnce)
	if storage.Capacity != "" {
		claim.WithResources(coreac.VolumeResourceRequirements().WithRequests(
			listAmounts(map[corev1.ResourceName]bind9.Quantity{corev1.ResourceStorage: storage.Capacity})))
	}
	claim.StorageClassName = optional(storage.StorageClassName)

	// The claim is deleted with the StatefulSet, since zones can be transferred again. A signer's claim stays, so that
	// no keys are lost.
	whenDeleted := appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	if s.Role == bind9.RoleSigner {
		whenDeleted = appsv1.RetainPersistentVolumeClaimRetentionPolicyType
	}

	spec := appsac.StatefulSetSpec().WithReplicas(s.Replicas).WithSelector(selector).WithTemplate(template).WithRevisionHistoryLimit(
		2).WithServiceName(s.Name).
		WithPersistentVolumeClaimRetentionPolicy(appsac.StatefulSetPersistentVolumeClaimRetentionPolicy().
			WithWhenDeleted(whenDeleted).WithWhenScaled(appsv1.RetainPersistentVolumeClaimRetentionPolicyType)).
		WithVolumeClaimTemplates(&coreac.PersistentVolumeClaimApplyConfiguration{
			ObjectMetaApplyConfiguration: &metaac.ObjectMetaApplyConfiguration{Name: new(stateVolume), Labels: s.selector()}, Spec: claim,
		})
	return Object{StatefulSets, s.Name, appsac.StatefulSet(s.Name, s.Namespace).WithLabels(s.labels()).WithAnnotations(
		annotations).WithSpec(spec)}
}

// GoesFirst reports whether the old pod stops first, because both need the same volume or node.
func (s *Server) GoesFirst() bool {
	return s.Workload() == StatefulSets || s.Settings.Placement != nil && s.Settings.Placement.Required
}

func (s *Server) TemplateHash() string {
	files, err := s.Files()
	if err != nil {
		return ""
	}
	return hashTemplate(s.podTemplate(files))
}

func hashTemplate(template *coreac.PodTemplateSpecApplyConfiguration) string {
	text, err := json.Marshal(template)
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// podTemplate returns the pod of a server. Any change of the result replaces the pod, so files that BIND can reload are
// not in it.
func (s *Server) podTemplate(files map[string]string) *coreac.PodTemplateSpecApplyConfiguration {
	template := coreac.PodTemplateSpec().WithLabels(s.labels()).
		WithAnnotations(map[string]string{annotationControl: s.Control.Name, AnnotationOwner: KindInstance + "/" + s.Name})
	if s.Agent() == bind9.AgentBindcar {
		// A bindcar reads its key at its start and cannot reload BIND's configuration.
		template.WithAnnotations(map[string]string{annotationConfig: Hash(files, map[string]string{"transfer": s.Transfer.Name})})
	}

	placement := cmp.Or(s.Settings.Placement, &bind9.Placement{})

	spec := coreac.PodSpec().
		WithServiceAccountName(s.Name).WithAutomountServiceAccountToken(false).WithEnableServiceLinks(false).
		WithTerminationGracePeriodSeconds(terminationSeconds).
		WithSecurityContext(coreac.PodSecurityContext().WithRunAsNonRoot(true).WithRunAsUser(user).WithRunAsGroup(user).WithFSGroup(user).
			// Do not walk a volume with many zones at each start.
			WithFSGroupChangePolicy(corev1.FSGroupChangeOnRootMismatch).
			WithSeccompProfile(coreac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault))).
		WithContainers(s.bindContainer(), s.agentContainer()).
		WithVolumes(s.listVolumes()...).
		WithTopologySpreadConstraints(s.listSpread(placement)...).WithNodeSelector(placement.NodeSelector)

	spec.PriorityClassName = optional(placement.PriorityClassName)
	for i := range placement.Tolerations {
		spec.WithTolerations(makeToleration(&placement.Tolerations[i]))
	}
	for _, secret := range s.pullSecrets() {
		spec.WithImagePullSecrets(coreac.LocalObjectReference().WithName(secret))
	}
	return template.WithSpec(spec)
}

func (s *Server) pullSecrets() []string {
	var secrets []string
	if s.Settings.Image != nil {
		secrets = append(secrets, s.Settings.Image.PullSecrets...)
	}
	if agent := s.Settings.Agent; agent != nil && agent.Image != nil {
		secrets = append(secrets, agent.Image.PullSecrets...)
	}
	slices.Sort(secrets)
	return slices.Compact(secrets)
}

func formatImage(image *bind9.Image, fallback, tag string) string {
	switch {
	case image == nil:
		return fallback
	case image.Digest != "":
		return image.Repository + "@" + image.Digest
	default:
		return image.Repository + ":" + cmp.Or(image.Tag, tag)
	}
}

// newContainer returns the common part of both containers: volumes, and the security context for the standard
// "restricted" (R3).
func newContainer(name string, image *bind9.Image, resources *bind9.Resources) *coreac.ContainerApplyConfiguration {
	of := coreac.Container().WithName(name).
		WithVolumeMounts(
			coreac.VolumeMount().WithName(configVolume).WithMountPath(ConfigDir).WithReadOnly(true),
			coreac.VolumeMount().WithName(stateVolume).WithMountPath(StateDir),
			coreac.VolumeMount().WithName(tmpVolume).WithMountPath("/tmp"),
		).
		// Clients and load balancers use a stopping pod until they notice.
		WithLifecycle(coreac.Lifecycle().WithPreStop(coreac.LifecycleHandler().WithSleep(coreac.SleepAction().WithSeconds(drainSeconds))))
	if image != nil {
		of.ImagePullPolicy = optional(corev1.PullPolicy(image.PullPolicy))
	}
	setResources(of, resources)
	return of.WithSecurityContext(coreac.SecurityContext().WithAllowPrivilegeEscalation(false).WithReadOnlyRootFilesystem(
		true).WithRunAsNonRoot(true).
		WithCapabilities(coreac.Capabilities().WithDrop("ALL")).
		WithSeccompProfile(coreac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault)))
}

// bindContainer returns the container of named. The liveness probe opens a TCP connection only, so that a slow answer
// does not restart a loaded server.
func (s *Server) bindContainer() *coreac.ContainerApplyConfiguration {
	tcp := coreac.TCPSocketAction().WithPort(intstr.FromString("dns-tcp"))
	return newContainer(BINDContainer, s.Settings.Image, &s.Resources).
		WithImage(formatImage(s.Settings.Image, s.Platform.BINDRepository+":"+s.Settings.Version, s.Settings.Version)).
		WithCommand("named", "-g", "-c", ConfigDir+"/"+configFile).
		WithPorts(
			coreac.ContainerPort().WithName("dns-udp").WithProtocol(corev1.ProtocolUDP).WithContainerPort(DNSPort),
			coreac.ContainerPort().WithName("dns-tcp").WithProtocol(corev1.ProtocolTCP).WithContainerPort(DNSPort),
		).
		WithStartupProbe(s.startupProbe()).
		WithLivenessProbe(coreac.Probe().WithTCPSocket(tcp).WithPeriodSeconds(10).WithTimeoutSeconds(5).WithFailureThreshold(3)).
		WithReadinessProbe(s.readinessProbe())
}

// The agent's container has no probe, since the pod is ready when BIND is. The startup probe asks the agent whether the
// zones are loaded. The readiness probe asks the supervisor, which survives a crash of the agent. A bindcar knows no
// zones and has no supervisor.

// BIND has an hour to load the zones.
func (s *Server) startupProbe() *coreac.ProbeApplyConfiguration {
	if s.Agent() == bind9.AgentBindcar {
		return coreac.Probe().WithTCPSocket(coreac.TCPSocketAction().WithPort(intstr.FromString("dns-tcp"))).
			WithPeriodSeconds(2).WithTimeoutSeconds(2).WithFailureThreshold(300)
	}
	ready := coreac.HTTPGetAction().WithPath("/api/v1/ready").WithPort(intstr.FromInt32(AgentPort)).WithScheme(corev1.URISchemeHTTPS)
	return coreac.Probe().WithHTTPGet(ready).WithPeriodSeconds(2).WithTimeoutSeconds(5).WithFailureThreshold(1800)
}

func (s *Server) readinessProbe() *coreac.ProbeApplyConfiguration {
	port := intstr.FromInt32(ProbePort)
	if s.Agent() == bind9.AgentBindcar {
		port = intstr.FromString("dns-tcp")
	}
	return coreac.Probe().WithTCPSocket(coreac.TCPSocketAction().WithPort(port)).WithPeriodSeconds(5).WithTimeoutSeconds(3).
		WithFailureThreshold(2)
}

// agentContainer returns the container of the agent: Kubizone's, or a bindcar, which reads keys from the environment.
func (s *Server) agentContainer() *coreac.ContainerApplyConfiguration {
	agent := cmp.Or(s.Settings.Agent, &bind9.Agent{})
	port := strconv.Itoa(AgentPort)
	dns, control := strconv.Itoa(DNSPort), "127.0.0.1:"+strconv.Itoa(RNDCPort)
	container := newContainer(AgentContainer, agent.Image, agent.Resources).
		WithPorts(coreac.ContainerPort().WithName("https").WithProtocol(corev1.ProtocolTCP).WithContainerPort(AgentPort))
	if s.Agent() == bind9.AgentBindcar {
		secret := func(variable, of, key string) *coreac.EnvVarApplyConfiguration {
			return coreac.EnvVar().WithName(variable).WithValueFrom(coreac.EnvVarSource().WithSecretKeyRef(
				coreac.SecretKeySelector().WithName(of).WithKey(key)))
		}
		value := func(variable, text string) *coreac.EnvVarApplyConfiguration {
			return coreac.EnvVar().WithName(variable).WithValue(text)
		}
		container.WithImage(formatImage(agent.Image, bindcarImage, "latest")).
			WithEnv(
				value("API_PORT", port), value("BIND_ZONE_DIR", StateDir), value("BIND_TLS_CERT", ConfigDir+"/"+corev1.TLSCertKey),
				value("BIND_TLS_KEY", ConfigDir+"/"+corev1.TLSPrivateKeyKey), value("RNDC_SERVER", control),
				value("NSUPDATE_SERVER", "127.0.0.1"), value("NSUPDATE_PORT", dns),
				secret("BIND_API_TOKEN", AgentSecretName(s.Name), dataToken),
				secret("RNDC_ALGORITHM", RNDCSecretName(s.Name), dataAlgorithm), secret("RNDC_SECRET", RNDCSecretName(s.Name), dataSecret),
				secret("RNDC_KEY_NAME", RNDCSecretName(s.Name), dataKeyName),
				value("NSUPDATE_KEY_NAME", s.Transfer.Name), value("NSUPDATE_ALGORITHM", string(s.Transfer.Algorithm)),
				secret("NSUPDATE_SECRET", TransferSecretName(s.Group()), dataSecret),
			)
	} else {
		container.WithImage(formatImage(agent.Image, s.Platform.AgentImage, "latest")).
			WithArgs("bind-agent", "--listen=:"+port, "--rndc-server="+control, "--rndc-key-file="+ConfigDir+"/"+rndcFile,
				"--dns-server=127.0.0.1:"+dns, "--tsig-key-file="+ConfigDir+"/"+tsigFile, "--zone-dir="+StateDir,
				"--token-file="+ConfigDir+"/"+tokenFile, "--config-dir="+ConfigDir, "--catalogs-file="+ConfigDir+"/"+catalogsFile,
				"--tls-cert-file="+ConfigDir+"/"+corev1.TLSCertKey, "--tls-private-key-file="+ConfigDir+"/"+corev1.TLSPrivateKeyKey,
				"--supervise=:"+strconv.Itoa(ProbePort), "-v=1")
	}
	return container
}

// listVolumes returns the pod's volumes. The volume with the zones comes from the StatefulSet, if there is one.
func (s *Server) listVolumes() []*coreac.VolumeApplyConfiguration {
	item := func(file string) *coreac.KeyToPathApplyConfiguration {
		return coreac.KeyToPath().WithKey(file).WithPath(file)
	}
	config := coreac.ProjectedVolumeSource().WithDefaultMode(0o440).WithSources(
		coreac.VolumeProjection().WithConfigMap(coreac.ConfigMapProjection().WithName(s.Name+"-config").WithItems(item(configFile),
			item(catalogsFile))),
		coreac.VolumeProjection().WithSecret(coreac.SecretProjection().WithName(RNDCSecretName(s.Name)).WithItems(item(keysFile),
			item(rndcFile), item(tsigFile))),
		coreac.VolumeProjection().WithSecret(coreac.SecretProjection().WithName(AgentSecretName(s.Name)).WithItems(item(tokenFile),
			item(corev1.TLSCertKey), item(corev1.TLSPrivateKeyKey))),
	)
	volumes := []*coreac.VolumeApplyConfiguration{
		coreac.Volume().WithName(configVolume).WithProjected(config),
		coreac.Volume().WithName(tmpVolume).WithEmptyDir(coreac.EmptyDirVolumeSource().WithMedium(corev1.StorageMediumMemory).WithSizeLimit(
			resource.MustParse("64Mi"))),
	}
	if s.Workload() == StatefulSets {
		return volumes
	}
	storage, state := s.Settings.Storage, coreac.EmptyDirVolumeSource()
	if storage != nil {
		if capacity, err := storage.Capacity.Parse(); err == nil {
			state.WithSizeLimit(capacity)
		}
	}
	return append(volumes, coreac.Volume().WithName(stateVolume).WithEmptyDir(state))
}

// listSpread spreads the servers of a cluster's role over zones and nodes. A server without a cluster has no others to
// keep away from.
func (s *Server) listSpread(placement *bind9.Placement) []*coreac.TopologySpreadConstraintApplyConfiguration {
	if s.Cluster == "" {
		return nil
	}
	when := corev1.ScheduleAnyway
	if placement.Required {
		when = corev1.DoNotSchedule
	}
	var constraints []*coreac.TopologySpreadConstraintApplyConfiguration
	for _, key := range []string{corev1.LabelTopologyZone, corev1.LabelHostname} {
		// Select by role, because a Deployment's labels would select only its own pod.
		constraints = append(constraints, coreac.TopologySpreadConstraint().WithMaxSkew(1).WithTopologyKey(key).WithWhenUnsatisfiable(when).
			WithLabelSelector(metaac.LabelSelector().WithMatchLabels(roleSelector(s.Cluster, s.Role, &s.Platform))))
	}
	return constraints
}

func makeToleration(of *bind9.Toleration) *coreac.TolerationApplyConfiguration {
	return &coreac.TolerationApplyConfiguration{
		Key: optional(of.Key), Operator: optional(corev1.TolerationOperator(of.Operator)), Value: optional(of.Value),
		Effect: optional(corev1.TaintEffect(of.Effect)), TolerationSeconds: of.TolerationSeconds,
	}
}

func optional[T ~string](text T) *T {
	if text == "" {
		return nil
	}
	return &text
}

// setResources sets requests and limits, each only if there is a valid amount.
func setResources(container *coreac.ContainerApplyConfiguration, of *bind9.Resources) {
	if of == nil {
		return
	}
	list := func(of *bind9.Amounts) corev1.ResourceList {
		if of == nil {
			return nil
		}
		return listAmounts(map[corev1.ResourceName]bind9.Quantity{corev1.ResourceCPU: of.CPU, corev1.ResourceMemory: of.Memory})
	}
	resources := coreac.ResourceRequirements()
	if requests := list(of.Requests); len(requests) > 0 {
		container.WithResources(resources.WithRequests(requests))
	}
	if limits := list(of.Limits); len(limits) > 0 {
		container.WithResources(resources.WithLimits(limits))
	}
}

// Admission refuses invalid quantities, so they are left out.
func listAmounts(of map[corev1.ResourceName]bind9.Quantity) corev1.ResourceList {
	list := corev1.ResourceList{}
	for name, quantity := range of {
		if amount, err := quantity.Parse(); err == nil {
			list[name] = amount
		}
	}
	return list
}
