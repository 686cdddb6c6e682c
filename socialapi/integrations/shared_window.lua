-- The window of one rate limit, shared by processes. One call records the outcomes of requests and
-- takes slots for new ones, because both come together under load and a round trip costs more than
-- the script. The script is idempotent for the same arguments.
--
-- It applies the rules of `SlidingWindow` in session/rate_limiter.py; a test compares both.
--
-- KEYS  1 state     hash: clock, reports of the service, ticket counter, epoch
--       2 flying    sorted set: slots of requests in flight, by the end of their lease
--       3 counted   sorted set: slots of answered requests, by the time at which they are free again
--       4 promises  sorted set: waiting processes, by the time until which they keep their turn
--       5 waiting   sorted set: processes with waiting interactive calls, by ticket
--       6 waiting   sorted set: processes with waiting bulk calls, by ticket
-- ARGV  1 the epoch that the caller knows, or ''     2 the number of calls that it knows
--       3 an epoch for a new state                   4 worker
--       5 lease_seconds     6 requests or ''         7 window_seconds or ''
--       8 reserve_share     9 grace_seconds         10 poll_seconds        11 probe_seconds
--      12 1 to stop waiting for the first response of an unknown limit
--      13 and 14 interactive slots wanted, and the number of the first; 15 and 16 the same for bulk
--      then seven for each request: slot, outcome, age_seconds, limit, remaining,
--      resets_in_seconds, refused_for_seconds
--
-- The epoch and the number of calls show whether the state is the one that the caller knows. It is
-- lost if Redis restarts without its data, evicts a key, or is not called for long. It is an
-- earlier state if a snapshot was loaded or a replica took over. The sets contain the epoch too,
-- which shows the loss of one of them.

local STATE, FLYING, COUNTED, PROMISES = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local WAITING = { interactive = KEYS[5], bulk = KEYS[6] }
local SAME_RESET_SECONDS = 2
local FIRST_SETTLEMENT, SETTLEMENT_FIELDS = 17, 7

local known_epoch, known_calls, new_epoch, worker = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local lease_seconds, documented_requests, window_seconds = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local reserve_share, grace_seconds = tonumber(ARGV[8]), tonumber(ARGV[9])
local poll_seconds, probe_seconds, is_last_attempt = tonumber(ARGV[10]), tonumber(ARGV[11]), ARGV[12] == '1'

local function exact(number)
  return string.format('%.6f', number)
end

-- State -------------------------------------------------------------------------------------------

local state = {}

local function value(name, default)
  return tonumber(state[name]) or default
end

local function is_whole()
  if not state.epoch or (state.epoch == known_epoch and value('calls', 0) < known_calls) then
    return false
  end
  for _, key in ipairs({ FLYING, COUNTED, PROMISES }) do
    if not redis.call('ZSCORE', key, 'epoch:' .. state.epoch) then
      return false
    end
  end
  return true
end

local function read_state()
  local found = redis.call('HGETALL', STATE)
  for index = 1, #found, 2 do
    state[found[index]] = found[index + 1]
  end
  if not is_whole() then
    redis.call('DEL', unpack(KEYS))
    state = { epoch = new_epoch }
    for _, key in ipairs({ FLYING, COUNTED, PROMISES }) do
      redis.call('ZADD', key, '+inf', 'epoch:' .. new_epoch)
    end
  end
  state.calls = string.format('%d', value('calls', 0) + 1)
end

local function set(name, number)
  state[name] = exact(number)
end

local function read_clock()
  local time = redis.call('TIME')
  local now = tonumber(time[1]) + tonumber(time[2]) / 1e6 + value('offset', 0)
  local last = value('last', 0)
  if now < last then -- the clock was set back, or a replica took over
    set('offset', value('offset', 0) + last - now)
    now = last
  end
  set('last', now)
  return now
end

read_state()
local now = read_clock()

local function in_flight()
  return redis.call('ZCARD', FLYING) - 1
end

local function recent()
  return redis.call('ZCARD', COUNTED) - 1
end

local function limit()
  return value('limit', documented_requests)
end

local function reserve(lane)
  if lane ~= 'bulk' or not limit() or reserve_share == 0 then
    return 0
  end
  return math.min(limit() - 1, math.max(1, math.ceil(limit() * reserve_share)))
end

-- Outcomes of requests -------------------------------------------------------------------------------

local function unaccounted(more)
  set('unaccounted', value('unaccounted', 0) + more)
end

local function count(place, at)
  if window_seconds then
    redis.call('ZADD', COUNTED, exact(at + window_seconds), place)
  end
end

local function end_leases()
  local ended = redis.call('ZRANGEBYSCORE', FLYING, '-inf', exact(now), 'WITHSCORES')
  for index = 1, #ended, 2 do
    redis.call('ZREM', FLYING, ended[index])
    count(ended[index], tonumber(ended[index + 1]))
    unaccounted(1)
  end
end

local function is_overtaken(remaining, reset)
  local reported = value('remaining')
  if not reported or now >= value('reset') then
    return false
  end
  if reset <= value('former_reset', -math.huge) + SAME_RESET_SECONDS then
    return true
  end
  return remaining > reported and math.abs(reset - value('reset')) <= SAME_RESET_SECONDS
end

local function learn(at, was_flying, reported_limit, remaining, resets_in_seconds)
  if reported_limit and reported_limit > 0 then
    set('limit', reported_limit)
  end
  if not remaining or not resets_in_seconds then
    return unaccounted(was_flying and 1 or 0)
  end
  local reset = at + resets_in_seconds
  if is_overtaken(remaining, reset) then
    return
  end
  if value('reset') and reset > value('reset') + SAME_RESET_SECONDS then
    set('former_reset', value('reset'))
  end
  set('remaining', remaining)
  set('reset', reset)
  set('unaccounted', 0)
  if limit() and window_seconds then
    local ours = in_flight() + redis.call('ZCOUNT', COUNTED, exact(reset - SAME_RESET_SECONDS), '+inf') - 1
    state.only_caller = limit() - remaining <= ours and '1' or '0'
  end
end

local function settle(place, outcome, age_seconds, reported_limit, remaining, resets_in_seconds, refused_for_seconds)
  if outcome == 'flying' then -- a long request, or one reported again after the state was lost
    redis.call('ZREM', COUNTED, place)
    redis.call('ZADD', FLYING, exact(now + lease_seconds - age_seconds), place)
    return
  end
  local was_flying = redis.call('ZREM', FLYING, place) == 1
  if outcome == 'unsent' then
    redis.call('ZREM', COUNTED, place)
    if place == state.probe then
      state.probe, state.probing_since = '', '' -- no response will come: the next request is the first
    end
    return
  end
  local at = now - age_seconds
  local is_new = not redis.call('ZSCORE', COUNTED, place)
  count(place, at)
  if outcome == 'former' then -- reported again, too: its rate-limit report is out of date
    return
  elseif outcome == 'unasked' then -- sent while Redis was unavailable
    unaccounted(is_new and 1 or 0)
  else
    state.answered = '1'
    if reported_limit or remaining then
      learn(at, was_flying, reported_limit, remaining, resets_in_seconds)
    elseif was_flying then
      unaccounted(1)
    end
  end
  if refused_for_seconds then
    set('blocked_until', math.max(value('blocked_until', 0), at + refused_for_seconds))
  end
end

-- Waiting and taking places ---------------------------------------------------------------------------

local function left()
  return value('remaining') - in_flight() - value('unaccounted', 0)
end

local function is_reported()
  return value('remaining') ~= nil and state.only_caller ~= '1'
end

-- Returns whether the response to the first request of this state is pending. It shows what other
-- processes have used, and what a lost state had counted.
local function is_probing()
  if state.answered == '1' or not value('probing_since') or (is_last_attempt and not limit()) then
    return false
  end
  return now < value('probing_since') + probe_seconds
end

-- Returns how many slots are free, including those that other callers wait for.
local function room(lane)
  if value('blocked_until', 0) > now or is_probing() then
    return 0
  end
  local free = math.huge
  if limit() and window_seconds then
    free = limit() - reserve(lane) - in_flight() - recent()
  end
  if is_reported() and now < value('reset') then
    free = math.min(free, left() - reserve(lane))
  elseif is_reported() and limit() then
    -- In a new window of the service, only the size is known.
    free = math.min(free, math.max(1, limit() - reserve(lane)) - in_flight())
  end
  if state.answered ~= '1' and not value('probing_since') then
    free = math.min(free, 1)
  end
  return free
end

local function seconds_by_count(lane, ahead)
  local places = limit() - reserve(lane)
  local answered = recent()
  local free = places - in_flight() - answered
  local turns, place = math.floor(ahead / places), ahead % places
  local first = window_seconds
  if place < free then
    first = 0
  elseif place - free < answered then
    local found = redis.call('ZRANGE', COUNTED, place - free, place - free, 'WITHSCORES')
    first = tonumber(found[2]) - now
  end
  return first + turns * window_seconds
end

local function seconds_by_report(lane, ahead)
  if now >= value('reset') then
    local places = limit() and math.max(1, limit() - reserve(lane))
    return places and in_flight() + ahead >= places and math.huge or 0
  end
  return left() - reserve(lane) > ahead and 0 or value('reset') - now
end

-- Returns the seconds until a slot is free after the callers ahead; infinite if this depends on a response.
local function seconds_until_free(lane, ahead)
  local seconds = math.max(0, value('blocked_until', 0) - now)
  if is_probing() then
    return math.huge
  end
  if limit() and window_seconds then
    seconds = math.max(seconds, seconds_by_count(lane, ahead))
  end
  if is_reported() then
    seconds = math.max(seconds, seconds_by_report(lane, ahead))
  end
  return seconds
end

local function leave(lane, who)
  redis.call('ZREM', WAITING[lane], who)
  redis.call('ZREM', PROMISES, lane .. ':' .. who)
end

-- Removes callers that missed their turn: they have died or stopped waiting.
local function forget_absent()
  for _, promise in ipairs(redis.call('ZRANGEBYSCORE', PROMISES, '-inf', exact(now))) do
    local lane, who = string.match(promise, '^(%a+):(.*)$')
    leave(lane, who)
  end
end

local function count_ahead(lane)
  local rank = redis.call('ZRANK', WAITING[lane], worker) or redis.call('ZCARD', WAITING[lane])
  return lane == 'bulk' and rank + redis.call('ZCARD', WAITING.interactive) or rank
end

-- Returns how many slots the caller gets: those left by the callers ahead, at most its share.
local function share_of(lane, wanted)
  local free, ahead = room(lane), count_ahead(lane)
  if free - ahead < 1 then
    return 0
  end
  local others = redis.call('ZCARD', WAITING[lane])
  if redis.call('ZSCORE', WAITING[lane], worker) then
    others = others - 1
  end
  return math.min(wanted, free - ahead, math.max(1, math.floor(free / (others + 1))))
end

local function wait_in_line(lane, is_behind_all)
  if is_behind_all or not redis.call('ZSCORE', WAITING[lane], worker) then
    set('tickets', value('tickets', 0) + 1)
    redis.call('ZADD', WAITING[lane], state.tickets, worker)
  end
  local seconds = seconds_until_free(lane, count_ahead(lane))
  if seconds == math.huge then
    seconds = poll_seconds
  end
  redis.call('ZADD', PROMISES, exact(now + seconds + grace_seconds), lane .. ':' .. worker)
  return seconds
end

local function take(lane, wanted, first)
  local granted = 0
  while granted < wanted and redis.call('ZSCORE', FLYING, worker .. ':' .. (first + granted)) do
    granted = granted + 1 -- granted by an earlier call whose reply was lost
  end
  if granted == 0 and wanted > 0 then
    granted = share_of(lane, wanted)
  end
  if granted > 0 and state.answered ~= '1' and not value('probing_since') then
    set('probing_since', now)
    state.probe = worker .. ':' .. first
  end
  for number = first, first + granted - 1 do
    redis.call('ZADD', FLYING, exact(now + lease_seconds), worker .. ':' .. number)
  end
  if granted == wanted then
    leave(lane, worker)
    return granted, 0
  end
  return granted, wait_in_line(lane, granted > 0)
end

-- The call -------------------------------------------------------------------------------------------

local function status()
  local remaining = math.huge
  if limit() and window_seconds then
    remaining = limit() - in_flight() - recent()
  end
  if value('remaining') and now < value('reset') then
    remaining = math.min(remaining, left())
  end
  if value('blocked_until', 0) > now then
    remaining = 0
  end
  local resets = math.max(value('blocked_until', 0), value('reset', 0)) - now
  local function told(number)
    return number and number < math.huge and exact(math.max(0, number)) or ''
  end
  return told(limit()), told(remaining), in_flight(), resets > 0 and told(resets) or ''
end

local function keep()
  local fields = {}
  for name, text in pairs(state) do
    fields[#fields + 1] = name
    fields[#fields + 1] = text
  end
  redis.call('HSET', STATE, unpack(fields))
  local ahead = math.max(window_seconds or 0, value('blocked_until', 0) - now, value('reset', 0) - now)
  local milliseconds = math.ceil((ahead + lease_seconds + 60) * 1000)
  for _, key in ipairs(KEYS) do
    redis.call('PEXPIRE', key, milliseconds)
  end
end

if known_epoch ~= '' and known_epoch ~= state.epoch then
  keep() -- the caller must first report what it has sent
  return { state.epoch, state.calls, 0, '0', 0, '0', '', '', in_flight(), '' }
end

if window_seconds then
  redis.call('ZREMRANGEBYSCORE', COUNTED, '-inf', exact(now))
end
end_leases()
for at = FIRST_SETTLEMENT, #ARGV, SETTLEMENT_FIELDS do
  local function number(index)
    return tonumber(ARGV[at + index])
  end
  settle(ARGV[at], ARGV[at + 1], number(2), number(3), number(4), number(5), number(6))
end
if window_seconds then
  redis.call('ZREMRANGEBYSCORE', COUNTED, '-inf', exact(now))
end
forget_absent()
local interactive, interactive_seconds = take('interactive', tonumber(ARGV[13]), tonumber(ARGV[14]))
local bulk, bulk_seconds = take('bulk', tonumber(ARGV[15]), tonumber(ARGV[16]))
keep()
local told_limit, told_remaining, told_in_flight, told_resets = status()
return {
  state.epoch, state.calls, interactive, exact(interactive_seconds), bulk, exact(bulk_seconds),
  told_limit, told_remaining, told_in_flight, told_resets,
}
