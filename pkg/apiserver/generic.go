// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"fmt"
	"net/http"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	apimachineryversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/apiserver/pkg/features"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/filters"
	"k8s.io/apiserver/pkg/util/compatibility"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	basecompatibility "k8s.io/component-base/compatibility"

	"kubi.zone/kubizone/pkg/apis/kubizone/install"
	generatedopenapi "kubi.zone/kubizone/pkg/apis/openapi"
	"kubi.zone/kubizone/pkg/apiserver/pace"
	"kubi.zone/kubizone/pkg/kit/version"
)

const (
	requestTimeout = time.Minute
	drainTimeout   = 5 * time.Second
)

// SetGates changes defaults of feature gates. Call it before a flag of gates is parsed.
func SetGates() error {
	// Deleting an undecodable object would take a Record out of its zone unnoticed (A4).
	gates := map[string]bool{string(features.AllowUnsafeMalformedObjectDeletion): false}
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(gates); err != nil {
		return fmt.Errorf("feature gates: %w", err)
	}
	return nil
}

// genericConfig returns the configuration that standalone and delegated servers share: versions, OpenAPI, the handler
// chain and timeouts.
func genericConfig(registry install.Registry) (*genericapiserver.RecommendedConfig, error) {
	if err := SetGates(); err != nil {
		return nil, err
	}
	config := genericapiserver.NewRecommendedConfig(registry.Codecs)
	config.FeatureGate = compatibility.DefaultComponentGlobalsRegistry.FeatureGateFor(basecompatibility.DefaultKubeComponent)
	config.EffectiveVersion = effectiveVersion{compatibility.DefaultComponentGlobalsRegistry.EffectiveVersionFor(
		basecompatibility.DefaultKubeComponent)}

	namer := openapi.NewDefinitionNamer(install.NewServedScheme(authorizationv1.AddToScheme))
	config.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(generatedopenapi.GetOpenAPIDefinitions, namer)
	config.OpenAPIConfig.Info.Title = version.Component
	config.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(generatedopenapi.GetOpenAPIDefinitions, namer)
	config.OpenAPIV3Config.Info.Title = version.Component

	config.BuildHandlerChainFunc = func(handler http.Handler, c *genericapiserver.Config) http.Handler {
		return pace.EndSlowClients(genericapiserver.DefaultBuildHandlerChain(checkBodies(handler), c), c)
	}

	config.RequestTimeout = requestTimeout
	// zones/entries and zones/changes may outlast the request timeout, and bypass priority and fairness.
	config.LongRunningFunc = filters.BasicLongRunningRequestCheck(sets.NewString("watch"), sets.NewString("entries", "changes"))
	config.ShutdownWatchTerminationGracePeriod = drainTimeout / 2
	return config, nil
}

// effectiveVersion is the release of the Kubernetes libraries, with Kubizone's version as build metadata.
type effectiveVersion struct {
	basecompatibility.EffectiveVersion
}

func (v effectiveVersion) Info() *apimachineryversion.Info {
	info := v.EffectiveVersion.Info()
	// component-base reports v0.0.0 outside Kubernetes' own modules.
	info.GitVersion = "v" + v.BinaryVersion().WithPatch(0).String() + "+" + version.Component + "-v" + version.Number()
	info.GitCommit, info.GitTreeState, info.BuildDate = "", "", ""
	return info
}
