// Asks Porcupine about histories of registers. Standard input: lines as cosmark_history::porcupine_json writes them (history.jsonl of
// cosmark certify), an empty line between two histories. Standard output: a line a history, "atomic" or "not atomic".
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"github.com/anishathalye/porcupine"
)

type input struct {
	Key   int
	Op    string
	Value int
}

type output struct{ Value int }

type line struct {
	ClientId int
	Input    input
	Call     int64
	Output   output
	Return   int64
}

var model = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		keys := map[int][]porcupine.Operation{}
		for _, one := range history {
			key := one.Input.(input).Key
			keys[key] = append(keys[key], one)
		}
		var all [][]porcupine.Operation
		for _, part := range keys {
			all = append(all, part)
		}
		return all
	},
	Init: func() interface{} { return 0 },
	Step: func(state, in, out interface{}) (bool, interface{}) {
		switch in.(input).Op {
		case "write":
			return true, in.(input).Value
		case "delete":
			return true, 0
		}
		return out.(output).Value == state.(int), state
	},
	Equal: func(a, b interface{}) bool { return a == b },
}

func judge(history []porcupine.Operation) {
	if porcupine.CheckOperations(model, history) {
		fmt.Println("atomic")
	} else {
		fmt.Println("not atomic")
	}
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<20), 1<<20)
	var history []porcupine.Operation
	for lines.Scan() {
		if len(lines.Bytes()) > 0 {
			var one line
			if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			history = append(history, porcupine.Operation{
				ClientId: one.ClientId, Input: one.Input, Call: one.Call, Output: one.Output, Return: one.Return,
			})
			continue
		}
		judge(history)
		history = nil
	}
	if len(history) > 0 {
		judge(history)
	}
}
