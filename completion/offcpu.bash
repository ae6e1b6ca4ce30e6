# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# Completion of offcpu for bash.
# shellcheck shell=bash

_offcpu_words() {
	mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
}

# The options of a command, all but those that take a value with "=" after them.
_offcpu_options() {
	local target='--all --pid= --tid= --follow --cgroup= --comm= --user-threads-only --kernel-threads-only --user= --self --verbose'
	local filter='--state= --min-block= --max-block='
	local capture='--user-stacks-only --kernel-stacks-only --max-depth= --unwind= --exact'
	local crowd='--wakers --runq-blame --storms'
	local sampling='--sample= --max-overhead='
	local read='--from= --to= --history= --incident= --state= --comm= --grep= --attribute= --trace= --weight= --user-threads --kernel-threads'

	case $1 in
	record) echo "$target $filter $capture $crowd $sampling --inline --attributes= --locks --objects --no-objects --no-wakers --tasks --duration= --output= --slice= --estimate --until-eof --max-loss= --cpu --frequency= --help" ;;
	trace) echo "$target $filter $capture $crowd $sampling --wakeup --offwake --inline --attributes= --locks --objects --folded --delimited --stack-storage-size= --help" ;;
	io) echo "--slower= --stacks --block --count --pid= --follow --cgroup= --user-stacks-only --kernel-stacks-only --duration= --top= --folded --json --json=summary --max-bytes= --output= --help" ;;
	sample) echo "$target --frequency= --proc --user-stacks-only --kernel-stacks-only --duration= --output= --help" ;;
	tasks) echo "--pid= --cgroup= --duration= --frequency= --top= --json --json=summary --max-bytes= --help" ;;
	top) echo "$target --state= $capture $sampling --interval= --by= --batch --json --json=summary --max-bytes= --count= --rows= --no-objects --wakers --since-start --help" ;;
	report) echo "$read --incidents --input-unit= --pid= --tid= --top= --by= --wakers --graph= --critical= --locks --runq-blame --storms --clickhouse= --host= --database= --credentials= --ca= --full --stacks --accounts --kernel-frames --follow --idle= --rate= --requests --rules= --explain= --json --json=summary --max-bytes= --id= --cursor= --markdown --csv --help" ;;
	flame)
		echo "$read --output= --html --open --title= --subtitle= --width= --min-width= --idle= --palette= --inverted --reverse --by= \
--wakers --wakeup --tasks --delimiter --pid= --tid= --input-unit= --help"
		;;
	push) echo "--pyroscope= --clickhouse= --otlp= --parca= --metrics= --database= --tenant= --credentials= --ca= --spool= --wait= --help" ;;
	serve) echo "--history= --incident= --fleet= --database= --credentials= --ca= --listen= --token-file= --audit --host= --rules= --mcp --open --help" ;;
	view) echo "--open --port= --idle= --from= --to= --history= --incident= --state= --comm= --grep= --attribute= --trace= --user-threads --kernel-threads --pid= --tid= --input-unit= --help" ;;
	export)
		echo "$read --pid= --tid= --format= --output= --by= --unit= --columns= --wakers --wakeup --idle= --tasks --no-delimiter --annotate --lines \
--input-unit= --help"
		;;
	whatif) echo "--of= --pauses --json --help" ;;
	diff)
		echo "--state= --comm= --grep= --attribute= --trace= --user-threads --kernel-threads --pid= --tid= --by= --fail-if= --requests= --normalize= --noise= --top= --all --json --json=summary --max-bytes= --id= --cursor= --output= --title= \
--negated --inverted --from= --to= --history= --incident= --before-from= --before-to= --after-from= --after-to= --before-comm= --before-grep= --before-state= --before-pid= --before-tid= --after-comm= --after-grep= \
--after-state= --after-pid= --after-tid= --help"
		;;
	hist)
		echo "$target $filter --on-cpu --runq --per-process --per-thread --milliseconds --nanoseconds \
--timestamp --json --help"
		;;
	request)
		echo "$target $filter $capture $crowd --inline --attributes= --locks --objects --no-objects --duration= --by= --slower= --line --quiet --every --top= --output= --json --json=summary --max-bytes= --help"
		;;
	events)
		echo "$target $filter $capture --duration= --format= --output= --runq --who-preempted --wakers --objects \
--runq-blame --stacks --json --ring-size= --help"
		;;
	agent) echo "--config= --check --set= --windows= --keep= --from= --to= --help" ;;
	mcp) echo "--allow-record --record-with= --history= --help" ;;
	doctor) echo "--no-test --pid= --json --json=summary --max-bytes= --help" ;;
	esac
}

# The values of an option, for the command $1 and the option $2; false where files are meant.
_offcpu_values() {
	case $2 in
	-p | --pid) _offcpu_words "$(cd /proc && printf '%s\n' [0-9]*)" ;;
	--state) _offcpu_words 'R S D T t P I C' ;;
	--unwind) _offcpu_words 'auto fp' ;;
	--weight) _offcpu_words 'off_cpu blocked runnable preempted count on_cpu time' ;;
	--idle) [ "$1" = view ] || _offcpu_words 'fold keep drop' ;;
	--palette) _offcpu_words 'io wakeup chain state' ;;
	--normalize) _offcpu_words 'threads requests none' ;;
	--unit | --input-unit) _offcpu_words 'ns us ms s' ;;
	-f | --format)
		case $1 in
		events) _offcpu_words 'text json perfetto firefox' ;;
		export) _offcpu_words 'folded json csv jsonl pprof speedscope firefox perfetto otlp perf-script sqlite collapsed' ;;
		*) return 1 ;;
		esac
		;;
	--graph) _offcpu_words 'dot json' ;;
	--comm | --before-comm | --after-comm | --critical) _offcpu_words "$(cat /proc/[0-9]*/comm 2>/dev/null | sort -u)" ;;
	--history) mapfile -t COMPREPLY < <(compgen -d -- "${cur:-/var/lib/offcpu}") ;;
	--cgroup) mapfile -t COMPREPLY < <(compgen -d -- "${cur:-/sys/fs/cgroup/}") ;;
	--by)
		case $1 in
		top) _offcpu_words 'process thread reason object stack' ;;
		report) _offcpu_words 'leaf stack thread process service comm state syscall reason object route role task request request-percentile request-route' ;;
		diff) _offcpu_words 'reason stack function leaf state comm process syscall lock' ;;
		flame) _offcpu_words 'process thread' ;;
		export) _offcpu_words 'comm thread' ;;
		esac
		;;
	*) return 1 ;;
	esac
}

_offcpu() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}
	local commands='record top trace sample tasks io report flame view serve diff whatif push export hist request events mcp agent doctor' i

	if [ "$COMP_CWORD" -eq 1 ]; then
		_offcpu_words "$commands help --help --version"
		return
	fi
	# After "--" comes another program with its own arguments.
	for ((i = 2; i < COMP_CWORD; i++)); do
		if [ "${COMP_WORDS[i]}" = -- ]; then
			if [ "$i" -eq $((COMP_CWORD - 1)) ]; then
				mapfile -t COMPREPLY < <(compgen -c -- "$cur")
			else
				compopt -o default
			fi
			return
		fi
	done
	if [ "$command" = help ]; then
		_offcpu_words "$commands"
		return
	fi
	# "--by=st" comes as three words.
	if [ "$cur" = = ]; then
		cur=
	elif [ "$prev" = = ]; then
		prev=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	_offcpu_values "$command" "$prev" && return
	if [[ $cur == -* ]]; then
		_offcpu_words "$(_offcpu_options "$command")"
		[[ ${COMPREPLY[0]:-} == *= ]] && compopt -o nospace
	else
		compopt -o default
	fi
}

complete -F _offcpu offcpu
