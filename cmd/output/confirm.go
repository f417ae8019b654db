// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"kubi.zone/kubizone/pkg/kit/terminal"
)

const maxUnasked = 10

// Consent is the flag --yes of a command that may delete many objects.
type Consent struct{ yes bool }

func (c *Consent) AddFlag(flags *pflag.FlagSet) {
	flags.BoolVar(&c.yes, "yes", false, fmt.Sprintf("delete more than %d objects without a question", maxUnasked))
}

// Ask returns nil if the command may delete the objects: at most maxUnasked, with --yes, or after a yes at the
// terminal.
func (c *Consent) Ask(in io.Reader, stderr io.Writer, number int, what string) error {
	if c.yes || number <= maxUnasked {
		return nil
	}
	return Confirm(in, stderr, fmt.Sprintf("Delete %d %s?", number, what))
}

// Confirm asks a question at the terminal, and returns nil after "yes". Without a terminal, as in a script, the error
// names --yes.
func Confirm(in io.Reader, stderr io.Writer, question string) error {
	// A pipe could answer yes by accident, with the first line of its manifests.
	if file, ok := in.(*os.File); !ok || !term.IsTerminal(int(file.Fd())) || !IsTerminal(stderr) {
		return fmt.Errorf("%s There is no terminal to ask at: --yes does not ask", question)
	}
	if _, err := terminal.Fprintf(stderr, "%s Type yes: ", question); err != nil {
		return err
	}
	answer, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && err != io.EOF {
		return err
	}
	// A single y is typed too easily.
	if strings.TrimSpace(answer) != "yes" {
		return fmt.Errorf("%s The answer was not yes", question)
	}
	return nil
}
