//! The exported names, with their parameters after `exit_data`: those of CCA's C header, one that older programs ask
//! for, and verbs that the header lacks: of chip cards (CSNBDCM, CSNBEAC), of PINs under AES keys (CSNBPTR2), of PINs
//! that are compared (CSNBPVR2), of FF1 (CSNBFFXE, CSNBFFXD, CSNBFFXT).

/// What Cryptographic_Facility_Version gives: the level of the interface, by which programs choose what they call, and
/// the day of the build as eight digits. These are zeros: the same sources give the same library on any day.
const VERSION: &str = "8.3.0   00000000";

capi::entry_points! {
    CSNBAKRC(rule_array_count: long, rule_array, key_label, key_token_length: long, key_token);
    CSNBAKRD(rule_array_count: long, rule_array, key_identifier);
    CSNBAKRL(
        rule_array_count: long, rule_array, key_label, data_set_name_length: long, data_set_name,
        security_server_name,
    ) does ListAes;
    CSNBAKRR(rule_array_count: long, rule_array, key_label, key_token_length: long, key_token);
    CSNBAKRW(rule_array_count: long, rule_array, key_label, key_token_length: long, key_token);
    CSNBAPG(
        rule_array_count: long, rule_array, inbound_pinencrypting_key_length: long,
        inbound_pinencrypting_key, encrypted_pinblock, issuer_domestic_code, card_secure_code, pandata,
        apencrypting_key_id_length: long, apencrypting_key_id, apvalue,
    );
    CSNBCKC(
        rule_array_count: long, rule_array, key_aidentifier_length: long, key_aidentifier,
        key_bidentifier_length: long, key_bidentifier, output_key_identifier_length: long,
        output_key_identifier,
    );
    CSNBCKI(clear_key, target_key_identifier);
    CSNBCKM(rule_array_count: long, rule_array, clear_key_length: long, clear_key, target_key_identifier);
    CSNBCPA(
        pin_enc_key_id, pin_gen_key_id, pin_profile, pan_data, encrypted_pin_blk, rule_array_count: long,
        rule_array, pin_check_length: long, data_array, returned_result,
    );
    CSNBCPE(
        pin_enc_key_id, rule_array_count: long, rule_array, clear_pin, pin_profile, pan_data,
        sequence_number: long, encrypted_pin_blk,
    );
    CSNBCSG(
        rule_array_count: long, rule_array, pan_data, expiration_date, service_code, key_a_id, key_b_id,
        generated_cvv,
    );
    CSNBCSV(
        rule_array_count: long, rule_array, pan_data, expiration_date, service_code, key_a_id, key_b_id,
        generated_cvv,
    );
    CSNBCTT2(
        rule_array_count: long, rule_array, key_id_in_len: long, key_id_in, init_vector_in_len: long,
        init_vector_in, cipher_text_in_len: long, cipher_text_in, chaining_vector_len: long,
        chaining_vector, key_id_out_len: long, key_id_out, init_vector_out_len: long, init_vector_out,
        cipher_text_out_len: long, cipher_text_out, reserved1_len: long, reserved1, reserved2_len: long,
        reserved2,
    );
    CSNBCVE(cvarenc_key_id, text_length: long, plain_text, init_vector, cipher_text);
    CSNBCVG(key_type, rule_array_count: long, rule_array, reserved_field_1, control_vector);
    CSNBCVT(
        kek_key_identifier, source_key_token, array_key_left, mask_array_left, array_key_right,
        mask_array_right, rule_array_count: long, rule_array, target_key_token,
    );
    CSNBDCM(
        rule_array_count: long, rule_array, issuer_master_key_identifier_length: long,
        issuer_master_key_identifier, icc_master_key_identifier_length: long, icc_master_key_identifier,
        transport_key_identifier_length: long, transport_key_identifier, pan_length: long, pan,
        pan_seq_number, reserved1_length: long, reserved1, reserved2_length: long, reserved2,
    );
    CSNBDDPG(
        rule_array_count: long, rule_array, account_info_er_length: long, account_info_er,
        pan_data_length: long, pan_data, card_p_data_length: long, card_p_data, card_t_data_length: long,
        card_t_data, pin_length: long, pin_generation_key_identifier_length: long,
        pin_generation_key_identifier, prw_key_identifier_length: long, prw_key_identifier,
        pin_print_key_identifier_length: long, pin_print_key_identifier,
        opin_encryption_key_identifier_length: long, opin_encryption_key_identifier,
        oepb_mac_key_identifier_length: long, oepb_mac_key_identifier, pin_reference_value_length: long,
        pin_reference_value, prw_random_number_length: long, prw_random_number,
        pin_print_block_length: long, pin_print_block, encrypted_pin_block_length: long,
        encrypted_pin_block, pin_block_mac_length: long, pin_block_mac,
    );
    CSNBDEC(
        key_identifier, text_length: long, ciphertext, initialization_vector, rule_array_count: long,
        rule_array, chaining_vector, plaintext,
    );
    CSNBDKG(
        rule_array_count: long, rule_array, generating_key_id, data_length: long, data, decrypting_key_id,
        generated_key_id,
    );
    CSNBDKG2(
        rule_array_count: long, rule_array, generating_key_id_length: long, generating_key_id,
        derivation_data_length: long, derivation_data, reserved1_length: long, reserved1,
        reserved2_length: long, reserved2, generated_key_id1_length: long, generated_key_id1,
        generated_key_id2_length: long, generated_key_id2,
    );
    CSNBDKM(source_key_token, importer_key_identifier, target_key_identifier);
    CSNBDKX(source_key_identifier, exporter_key_identifier, target_key_token);
    CSNBDMP(
        rule_array_count: long, rule_array, pan_data_length: long, pan_data, card_p_data_length: long,
        card_p_data, card_t_data_length: long, card_t_data, iso1_pin_block_length: long, iso1_pin_block,
        ipin_encryption_key_identifier_length: long, ipin_encryption_key_identifier,
        prw_key_identifier_length: long, prw_key_identifier, opin_encryption_key_identifier_length: long,
        opin_encryption_key_identifier, oepb_mac_key_identifier_length: long, oepb_mac_key_identifier,
        pin_reference_value_length: long, pin_reference_value, prw_random_number_length: long,
        prw_random_number, output_encrypted_pin_block_length: long, output_encrypted_pin_block,
        pin_block_mac_length: long, pin_block_mac,
    );
    CSNBDPC(
        rule_array_count: long, rule_array, pan_data_length: long, pan_data, card_p_data_length: long,
        card_p_data, card_t_data_length: long, card_t_data, cur_iso1_pin_block_length: long,
        cur_iso1_pin_block, new_iso1_pin_block_length: long, new_iso1_pin_block,
        card_script_data_length: long, card_script_data, script_offset: long,
        script_offset_field_length: long, script_initialization_vector_length: long,
        script_initialization_vector, output_pin_profile, pin_reference_value_length: long,
        pin_reference_value, prw_random_number_length: long, prw_random_number,
        prw_key_identifier_length: long, prw_key_identifier,
        current_ipin_encryption_key_identifier_length: long, current_ipin_encryption_key_identifier,
        new_ipin_encryption_key_identifier_length: long, new_ipin_encryption_key_identifier,
        script_key_identifier_length: long, script_key_identifier, script_mac_key_identifier_length: long,
        script_mac_key_identifier, new_prw_key_identifier_length: long, new_prw_key_identifier,
        opin_encryption_key_identifier_length: long, opin_encryption_key_identifier,
        oepb_mac_key_identifier_length: long, oepb_mac_key_identifier, script_length: long, script,
        script_mac_length: long, script_mac, new_pin_reference_value_length: long, new_pin_reference_value,
        new_prw_random_number_length: long, new_prw_random_number, output_encrypted_pin_block_length: long,
        output_encrypted_pin_block, pin_block_mac_length: long, pin_block_mac,
    );
    CSNBDPCG(
        rule_array_count: long, rule_array, current_pan_data_length: long, current_pan_data,
        new_pan_data_length: long, new_pan_data, current_card_data_length: long, current_card_data,
        new_card_data_length: long, new_card_data, pin_reference_value_length: long, pin_reference_value,
        cmac_fus_key_identifier_length: long, cmac_fus_key_identifier, cmac_fus_length: long, cmac_fus,
    );
    CSNBDPMT(
        rule_array_count: long, rule_array, current_pan_data_length: long, current_pan_data,
        new_pan_data_length: long, new_pan_data, current_card_p_data_length: long, current_card_p_data,
        current_card_t_data_length: long, current_card_t_data, new_card_p_data_length: long,
        new_card_p_data, new_card_t_data_length: long, new_card_t_data, cmac_fus_length: long, cmac_fus,
        iso_encrypted_pin_block_length: long, iso_encrypted_pin_block,
        current_pin_reference_value_length: long, current_pin_reference_value,
        current_prw_random_number_length: long, current_prw_random_number,
        cmac_fus_key_identifier_length: long, cmac_fus_key_identifier,
        ipin_encryption_key_identifier_length: long, ipin_encryption_key_identifier,
        prw_key_identifier_length: long, prw_key_identifier, new_prw_key_identifier_length: long,
        new_prw_key_identifier, new_pin_reference_value_length: long, new_pin_reference_value,
        new_prw_random_number_length: long, new_prw_random_number,
    );
    CSNBDPNU(
        rule_array_count: long, rule_array, card_p_data_length: long, card_p_data, card_t_data_length: long,
        card_t_data, encrypted_pin_block_length: long, encrypted_pin_block, pin_block_mac_length: long,
        pin_block_mac, prw_key_identifier_length: long, prw_key_identifier,
        ipin_encryption_key_identifier_length: long, ipin_encryption_key_identifier,
        iepb_mac_key_identifier_length: long, iepb_mac_key_identifier,
        opin_encryption_key_identifier_length: long, opin_encryption_key_identifier,
        oepb_mac_key_identifier_length: long, oepb_mac_key_identifier, pin_reference_value_length: long,
        pin_reference_value, prw_random_number_length: long, prw_random_number,
        new_encrypted_pin_block_length: long, new_encrypted_pin_block, new_pin_block_mac_length: long,
        new_pin_block_mac,
    );
    CSNBDPT(
        rule_array_count: long, rule_array, card_p_data_length: long, card_p_data, card_t_data_length: long,
        card_t_data, new_pan_data_length: long, new_pan_data, new_card_p_data_length: long, new_card_p_data,
        pin_reference_value_length: long, pin_reference_value, prw_random_number_length: long,
        prw_random_number, current_encrypted_pin_block_length: long, current_encrypted_pin_block,
        current_pin_block_mac_length: long, current_pin_block_mac, prw_mac_key_identifier_length: long,
        prw_mac_key_identifier, ipin_encryption_key_identifier_length: long, ipin_encryption_key_identifier,
        iepb_mac_key_identifier_length: long, iepb_mac_key_identifier,
        opin_encryption_key_identifier_length: long, opin_encryption_key_identifier,
        oepb_mac_key_identifier_length: long, oepb_mac_key_identifier, new_encrypted_pin_block_length: long,
        new_encrypted_pin_block, new_pin_block_mac_length: long, new_pin_block_mac,
    );
    CSNBDPV(
        rule_array_count: long, rule_array, pan_data_length: long, pan_data, card_data_length: long,
        card_data, pin_reference_value_length: long, pin_reference_value, prw_random_number_length: long,
        prw_random_number, iso_encrypted_pin_block_length: long, iso_encrypted_pin_block,
        prw_key_identifier_length: long, prw_key_identifier, ipin_encryption_key_identifier_length: long,
        ipin_encryption_key_identifier,
    );
    CSNBDRP(
        rule_array_count: long, rule_array, card_p_data_length: long, card_p_data, card_t_data_length: long,
        card_t_data, encrypted_pin_block_length: long, encrypted_pin_block, pin_block_mac_length: long,
        pin_block_mac, prw_key_identifier_length: long, prw_key_identifier,
        ipin_encryption_key_identifier_length: long, ipin_encryption_key_identifier,
        iepb_mac_key_identifier_length: long, iepb_mac_key_identifier,
        opin_encryption_key_identifier_length: long, opin_encryption_key_identifier,
        oepb_mac_key_identifier_length: long, oepb_mac_key_identifier, pin_reference_value_length: long,
        pin_reference_value, prw_random_number_length: long, prw_random_number,
        new_encrypted_pin_block_length: long, new_encrypted_pin_block, new_pin_block_mac_length: long,
        new_pin_block_mac,
    );
    CSNBDRPG(
        rule_array_count: long, rule_array, pan_data_length: long, pan_data, card_p_data_length: long,
        card_p_data, card_t_data_length: long, card_t_data, pin_length: long,
        prw_key_identifier_length: long, prw_key_identifier, pin_print_key_identifier_length: long,
        pin_print_key_identifier, opin_encryption_key_identifier_length: long,
        opin_encryption_key_identifier, oepb_mac_key_identifier_length: long, oepb_mac_key_identifier,
        pin_reference_value_length: long, pin_reference_value, prw_random_number_length: long,
        prw_random_number, pin_print_block_length: long, pin_print_block, encrypted_pin_block_length: long,
        encrypted_pin_block, pin_block_mac_length: long, pin_block_mac,
    );
    CSNBEAC(
        rule_array_count: long, rule_array, issuer_master_key_identifier_length: long,
        issuer_master_key_identifier, issuer_arpc_master_key_identifier_length: long,
        issuer_arpc_master_key_identifier, pan_length: long, pan, pan_seq_number,
        cryptogram_info_length: long, cryptogram_info, atc, arc, arqc, arpc, unpredictable_number,
        reserved1_length: long, reserved1, reserved2_length: long, reserved2,
    );
    CSNBENC(
        key_identifier, text_length: long, plaintext, initialization_vector, rule_array_count: long,
        rule_array, pad_character: long, chaining_vector, ciphertext,
    );
    CSNBEPG(
        pin_gen_key_id, out_pin_enc_key_id, rule_array_count: long, rule_array, pin_length: long,
        data_array, out_pin_profile, pan_data, sequence_number: long, encrypted_pin_blk,
    );
    CSNBFFXD(
        rule_array_count: long, rule_array, key_identifier_length: long, key_identifier, tweak_length: long,
        tweak, tweak_alphabet_length: long, tweak_alphabet, alphabet_length: long, alphabet,
        ciphertext_length: long, ciphertext, reserved1_length: long, reserved1, reserved2_length: long,
        reserved2, plaintext_length: long, plaintext,
    );
    CSNBFFXE(
        rule_array_count: long, rule_array, key_identifier_length: long, key_identifier, tweak_length: long,
        tweak, tweak_alphabet_length: long, tweak_alphabet, alphabet_length: long, alphabet,
        plaintext_length: long, plaintext, reserved1_length: long, reserved1, reserved2_length: long,
        reserved2, ciphertext_length: long, ciphertext,
    );
    CSNBFFXT(
        rule_array_count: long, rule_array, input_key_identifier_length: long, input_key_identifier,
        output_key_identifier_length: long, output_key_identifier, input_tweak_length: long, input_tweak,
        input_tweak_alphabet_length: long, input_tweak_alphabet, input_alphabet_length: long, input_alphabet,
        output_tweak_length: long, output_tweak, output_tweak_alphabet_length: long, output_tweak_alphabet,
        output_alphabet_length: long, output_alphabet, reserved1_length: long, reserved1,
        reserved2_length: long, reserved2, ciphertext_length: long, ciphertext,
    );
    CSNBFPED(
        rule_array_count: long, rule_array, enc_pan_length: long, enc_pan, enc_ch_name_length: long,
        enc_ch_name, enc_track1_ddata_length: long, enc_track1_ddata, enc_track2_ddata_length: long,
        enc_track2_ddata, key_identifier_length: long, key_identifier, derivation_data_length: long,
        derivation_data, clear_pan_length: long, clear_pan, clear_ch_name_length: long, clear_ch_name,
        clear_track1_ddata_length: long, clear_track1_ddata, clear_track2_ddata_length: long,
        clear_track2_ddata, dukpt_pin_key_identifier_length: long, dukpt_pin_key_identifier,
        reserved1_length: long, reserved1, reserved2_length: long, reserved2,
    );
    CSNBFPEE(
        rule_array_count: long, rule_array, clear_pan_length: long, clear_pan, clear_ch_name_length: long,
        clear_ch_name, clear_track1_ddata_length: long, clear_track1_ddata, clear_track2_ddata_length: long,
        clear_track2_ddata, key_identifier_length: long, key_identifier, derivation_data_length: long,
        derivation_data, enc_pan_length: long, enc_pan, enc_ch_name_length: long, enc_ch_name,
        enc_track1_ddata_length: long, enc_track1_ddata, enc_track2_ddata_length: long, enc_track2_ddata,
        dukpt_pin_key_identifier_length: long, dukpt_pin_key_identifier, reserved1_length: long, reserved1,
        reserved2_length: long, reserved2,
    );
    CSNBFPET(
        rule_array_count: long, rule_array, input_pan_length: long, input_pan, input_ch_name_length: long,
        input_ch_name, input_track1_ddata_length: long, input_track1_ddata, input_track2_ddata_length: long,
        input_track2_ddata, input_key_identifier_length: long, input_key_identifier,
        output_key_identifier_length: long, output_key_identifier, derivation_data_length: long,
        derivation_data, output_pan_length: long, output_pan, output_ch_name_length: long, output_ch_name,
        output_track1_ddata_length: long, output_track1_ddata, output_track2_ddata_length: long,
        output_track2_ddata, dukpt_pin_key_identifier_length: long, dukpt_pin_key_identifier,
        reserved1_length: long, reserved1, reserved2_length: long, reserved2,
    );
    CSNBHMG(
        rule_array_count: long, rule_array, key_identifier_length: long, key_identifier,
        message_text_length: long, message_text, chaining_vector_length: long, chaining_vector,
        mac_length: long, mac_text,
    );
    CSNBHMV(
        rule_array_count: long, rule_array, key_identifier_length: long, key_identifier,
        message_text_length: long, message_text, chaining_vector_length: long, chaining_vector,
        mac_length: long, mac_text,
    );
    CSNBKET(
        rule_array_count: long, rule_array, kek_identifier_length: long, kek_identifier,
        key_in_length: long, key_in, key_out_length: long, key_out,
    );
    CSNBKEX(key_type, source_key_identifier, exporter_key_identifier, target_key_token);
    CSNBKGN(
        key_form, key_length, key_type_1, key_type_2, kek_key_identifier_1, kek_key_identifier_2,
        generated_key_identifier_1, generated_key_identifier_2,
    );
    CSNBKGN2(
        rule_array_count: long, rule_array, clear_key_bit_length: long, key_type_1, key_type_2,
        key_name_1_length: long, key_name_1, key_name_2_length: long, key_name_2,
        user_associated_data_1_length: long, user_associated_data_1, user_associated_data_2_length: long,
        user_associated_data_2, kek_key_identifier_1_length: long, kek_key_identifier_1,
        kek_key_identifier_2_length: long, kek_key_identifier_2, generated_key_identifier_1_length: long,
        generated_key_identifier_1, generated_key_identifier_2_length: long, generated_key_identifier_2,
    );
    CSNBKIM(key_type, source_key_token, importer_key_identifier, target_key_identifier);
    CSNBKPI(rule_array_count: long, rule_array, key_part, key_identifier);
    CSNBKPI2(
        rule_array_count: long, rule_array, clear_key_part_length: long, clear_key_part,
        key_identifier_length: long, key_identifier,
    );
    CSNBKRC(key_label);
    CSNBKRD(rule_array_count: long, rule_array, key_identifier);
    CSNBKRL(key_label, data_set_name_length: long, data_set_name, security_server_name) does ListDes;
    CSNBKRR(key_label, key_token);
    CSNBKRW(key_token, key_label);
    CSNBKSI(
        rule_array_count: long, rule_array, file_name_length: long, file_name, description_length: long,
        description, clear_master_key,
    );
    CSNBKTB(
        key_token, key_type, rule_array_count: long, rule_array, key_value, reserved_field_1,
        reserved_field_2: long, reserved_field_3, control_vector, reserved_field_4, reserved_field_5: long,
        reserved_field_6, master_key_verification_number,
    );
    CSNBKTB2(
        rule_array_count: long, rule_array, clear_key_bit_length: long, clear_key_value,
        key_name_length: long, key_name, user_associated_data_length: long, user_associated_data,
        token_data_length: long, token_data, reserved_length: long, reserved, target_key_token_length: long,
        target_key_token,
    );
    CSNBKTC(rule_array_count: long, rule_array, key_identifier);
    CSNBKTC2(rule_array_count: long, rule_array, key_identifier_length: long, key_identifier);
    CSNBKTP(
        key_token, key_type, rule_array_count: long, rule_array, key_value,
        master_key_verification_pattern_v03, reserved_field_2: long, reserved_field_3, control_vector,
        reserved_field_4, reserved_field_5: long, reserved_field_6, master_key_verification_pattern_v00,
    );
    CSNBKTP2(
        key_token_length: long, key_token, key_type, rule_array_count: long, rule_array,
        key_material_state: long, payload_bit_length: long, payload, key_verification_type: long,
        key_verification_pattern_length: long, key_verification_pattern, key_wrapping_method: long,
        key_hash_method: long, key_name_length: long, key_name, tlvdata_length: long, tlvdata,
        user_assoc_data_length: long, user_assoc_data, reserved_length: long, reserved,
    );
    CSNBKTR(input_key_token, input_kek_key_identifier, output_kek_key_identifier, output_key_token);
    CSNBKTR2(
        rule_array_count: long, rule_array, input_key_token_length: long, input_key_token,
        input_kek_key_identifier_length: long, input_kek_key_identifier,
        output_kek_key_identifier_length: long, output_kek_key_identifier, output_key_token_length: long,
        output_key_token,
    );
    CSNBKYT(rule_array_count: long, rule_array, key_identifier, value_1, value_2);
    CSNBKYT2(
        rule_array_count: long, rule_array, key_identifier_length: long, key_identifier,
        kek_key_identifier_length: long, kek_key_identifier, reserved_length: long, reserved,
        verification_pattern_length: long, verification_pattern,
    );
    CSNBKYTX(
        rule_array_count: long, rule_array, key_identifier, random_number, verification_pattern,
        kek_key_identifier,
    );
    CSNBMDG(text_length: long, text_data, rule_array_count: long, rule_array, chaining_vector, mdc);
    CSNBMGN(
        key_identifier, text_length: long, text, rule_array_count: long, rule_array, chaining_vector, mac,
    );
    CSNBMGN2(
        rule_array_count: long, rule_array, key_identifier_length: long, key_identifier,
        message_text_length: long, message_text, chaining_vector_length: long, chaining_vector,
        mac_length: long, mac_text,
    );
    CSNBMKP(rule_array_count: long, rule_array, key_part);
    CSNBMVR(
        key_identifier, text_length: long, text, rule_array_count: long, rule_array, chaining_vector, mac,
    );
    CSNBMVR2(
        rule_array_count: long, rule_array, key_identifier_length: long, key_identifier,
        message_text_length: long, message_text, chaining_vector_length: long, chaining_vector,
        mac_length: long, mac_text,
    );
    CSNBOWH(
        rule_array_count: long, rule_array, text_length: long, text, chaining_vector_length: long,
        chaining_vector, hash_length: long, hash,
    );
    CSNBPCU(
        rule_array_count: long, rule_array, authentication_master_key_length: long,
        authentication_master_key, issuer_master_key_length: long, issuer_master_key,
        key_generation_data_length: long, key_generation_data, new_ref_pin_key_length: long,
        new_ref_pin_key, new_ref_pin_block, new_ref_pin_profile, new_ref_pan_data,
        current_ref_pin_key_length: long, current_ref_pin_key, current_ref_pin_block,
        current_ref_pin_profile, current_ref_pan_data, output_pin_data_length: long, output_pin_data,
        output_pin_profile, output_pin_message_length: long, output_pin_message,
    );
    CSNBPEX(key_identifier);
    CSNBPEX2(
        rule_array_count: long, rule_array, key_identifier_length: long, key_identifier,
        kek_key_identifier_length: long, kek_key_identifier,
    );
    CSNBPEXX(source_key_token, kek_key_identifier);
    CSNBPFO(
        rule_array_count: long, rule_array, pin_enc_key_id_length: long, pin_enc_key_id,
        pin_gen_key_id_length: long, pin_gen_key_id, pin_profile, pan_data, offset, reserved_1: long,
        data_array, encrypted_pin_blk_length: long, encrypted_pin_blk,
    );
    CSNBPGN(
        pin_gen_key_id, rule_array_count: long, rule_array, pin_length: long, pin_check_length: long,
        data_array, returned_result,
    );
    CSNBPTR(
        in_pin_enc_key_id, out_pin_enc_key_id, in_pin_profile, in_pan_data, in_pin_blk,
        rule_array_count: long, rule_array, out_pin_profile, out_pan_data, sequence_number: long,
        output_pin_block,
    );
    CSNBPTR2(
        rule_array_count: long, rule_array, input_pin_encrypting_key_identifier_length: long,
        input_pin_encrypting_key_identifier, output_pin_encrypting_key_identifier_length: long,
        output_pin_encrypting_key_identifier, authentication_key_identifier_length: long,
        authentication_key_identifier, input_pin_profile_length: long, input_pin_profile,
        input_pan_data_length: long, input_pan_data, input_pin_block_length: long, input_pin_block,
        output_pin_profile_length: long, output_pin_profile, output_pan_data_length: long, output_pan_data,
        authentication_data_length: long, authentication_data, output_pin_block_length: long,
        output_pin_block, reserved1_length: long, reserved1, reserved2_length: long, reserved2,
        reserved3_length: long, reserved3,
    );
    CSNBPTRE(
        rule_array_count: long, rule_array, in_pinenc_key_idlength: long, in_pinenc_key_id,
        out_pinenc_key_idlength: long, out_pinenc_key_id, panenc_key_idlength: long, panenc_key_id,
        in_pinprofile_length: long, in_pinprofile, pandata_length: long, pandata, in_pinblk_length: long,
        in_pinblk, out_pinprofile_length: long, out_pinprofile, sequence_number: long,
        out_pinblk_length: long, out_pinblk, reserved1_length: long, reserved1, reserved2_length: long,
        reserved2,
    );
    CSNBPVR(
        pin_enc_key_id, pin_ver_key_id, pin_profile, pan_data, encrypted_pin_blk, rule_array_count: long,
        rule_array, pin_check_length: long, data_array,
    );
    CSNBPVR2(
        rule_array_count: long, rule_array, reference_pin_rule_array_count: long, reference_pin_rule_array,
        pin_check_length: long, input_pin_encrypting_key_identifier_length: long,
        input_pin_encrypting_key_identifier, reference_pin_encrypting_key_identifier_length: long,
        reference_pin_encrypting_key_identifier, input_pin_profile_length: long, input_pin_profile,
        input_pin_block_length: long, input_pin_block, reference_pin_profile_length: long,
        reference_pin_profile, reference_pin_block_length: long, reference_pin_block, input_pan_data,
        reference_pan_data, reserved1_length: long, reserved1, reserved2_length: long, reserved2,
        reserved3_length: long, reserved3, reserved4_length: long, reserved4,
    );
    CSNBRKA(
        rule_array_count: long, rule_array, key_identifier_length: long, key_identifier,
        kek_key_identifier_length: long, kek_key_identifier, opt_parameter1_length: long, opt_parameter1,
        opt_parameter2_length: long, opt_parameter2,
    );
    CSNBRNG(form, random_number);
    CSNBRNGL(
        rule_array_count: long, rule_array, reserved_length: long, reserved, random_number_length: long,
        random_number,
    );
    CSNBSAD(
        rule_array_count: long, rule_array, key_length: long, key_identifier, key_parms_length: long,
        key_parms, block_size: long, initialization_vector_length: long, initialization_vector,
        chain_data_length: long, chain_data, cipher_text_length: long, cipher_text, clear_text_length: long,
        clear_text, optional_data_length: long, optional_data,
    );
    CSNBSAE(
        rule_array_count: long, rule_array, key_length: long, key_identifier, key_parms_length: long,
        key_parms, block_size: long, initialization_vector_length: long, initialization_vector,
        chain_data_length: long, chain_data, clear_text_length: long, clear_text, cipher_text_length: long,
        cipher_text, optional_data_length: long, optional_data,
    );
    CSNBSKY(
        rule_array_count: long, rule_array, input_key_indentifier, key_encrypting_key, session_key,
        text_length: long, clear_text, initialization_vector, key_offset: long,
        key_offset_field_length: long, cipher_text, output_chaining_value,
    );
    CSNBSPN(
        rule_array_count: long, rule_array, in_pin_blk, in_pin_enc_key_id, in_pin_profile, in_pan_data,
        secmsg_key, out_pin_profile, out_pan_data, text_length: long, clear_text, initialization_vector,
        pin_offset: long, pin_offset_field_length: long, cipher_text, output_chaining_value,
    );
    CSNBT31I(
        rule_array_count: long, rule_array, tr31_key_block_length: long, tr31_key_block,
        unwrap_kek_identifier_length: long, unwrap_kek_identifier, wrap_kek_identifier_length: long,
        wrap_kek_identifier, output_key_identifier_length: long, output_key_identifier, num_opt_blks: long,
        cv_source: long, protection_method: long,
    );
    CSNBT31O(
        rule_array_count: long, rule_array, opt_blocks_bfr_length: long, opt_blocks_length: long,
        opt_blocks, num_opt_blocks: long, opt_block_id, opt_block_data_length: long, opt_block_data,
    );
    CSNBT31P(
        rule_array_count: long, rule_array, tr31_key_length: long, tr31_key, key_block_version,
        key_block_length: long, key_usage, algorithm, mode, key_version_number, exportability,
        num_opt_blocks: long,
    );
    CSNBT31R(
        rule_array_count: long, rule_array, tr31_key_length: long, tr31_key, opt_block_id,
        num_opt_blocks: long, opt_block_ids, opt_block_lengths, opt_block_data_length: long, opt_block_data,
    );
    CSNBT31X(
        rule_array_count: long, rule_array, key_version_number, key_field_length: long,
        source_key_identifier_length: long, source_key_identifier, unwrap_kek_identifier_length: long,
        unwrap_kek_identifier, wrap_kek_identifier_length: long, wrap_kek_identifier, opt_blks_length: long,
        opt_blks, tr31_key_block_length: long, tr31_key_block,
    );
    CSNBTRV(
        rule_array_count: long, rule_array, transaction_key_length: long, transaction_key,
        transaction_info_length: long, transaction_info, validation_values_length: long, validation_values,
    );
    CSNBUKD(
        rule_array_count: long, rule_array, base_derivation_key_identifier_length: long,
        base_derivation_key_identifier, derivation_data_length: long, derivation_data,
        generated_key_identifier1_length: long, generated_key_identifier1,
        generated_key_identifier2_length: long, generated_key_identifier2,
        generated_key_identifier3_length: long, generated_key_identifier3,
        transport_key_identifier_length: long, transport_key_identifier, reserved2_length: long, reserved2,
        reserved3_length: long, reserved3, reserved4_length: long, reserved4, reserved5_length: long,
        reserved5, reserved6_length: long, reserved6,
    );
    CSNBXEA(
        rule_array_count: long, rule_array, text_length: long, source_text, target_text,
        code_table_length: long, code_table,
    );
    CSNDDSG(
        rule_array_count: long, rule_array, pka_private_key_id_length: long, pka_private_key_id,
        hash_length: long, hash, signature_field_length: long, signature_bit_length: long, signature_field,
    );
    CSNDDSV(
        rule_array_count: long, rule_array, pka_public_key_id_length: long, pka_public_key_id,
        hash_length: long, hash, signature_field_length: long, signature_field,
    );
    CSNDEDH(
        rule_array_count: long, rule_array, private_key_identifier_length: long, private_key_identifier,
        private_kek_key_identifier_length: long, private_kek_key_identifier,
        public_key_identifier_length: long, public_key_identifier, chaining_vector_length: long,
        chaining_vector, party_identifier_length: long, party_identifier, key_bit_length: long,
        reserved_length: long, reserved, reserved2_length: long, reserved2, reserved3_length: long,
        reserved3, reserved4_length: long, reserved4, reserved5_length: long, reserved5,
        output_kek_key_identifier_length: long, output_kek_key_identifier,
        output_key_identifier_length: long, output_key_identifier,
    );
    CSNDKRC(rule_array_count: long, rule_array, key_label, key_token_length: long, key_token);
    CSNDKRD(rule_array_count: long, rule_array, key_identifier);
    CSNDKRL(
        rule_array_count: long, rule_array, key_label, data_set_name_length: long, data_set_name,
        security_server_name,
    ) does ListPka;
    CSNDKRR(rule_array_count: long, rule_array, key_label, key_token_length: long, key_token);
    CSNDKRW(rule_array_count: long, rule_array, key_label, key_token_length: long, key_token);
    CSNDKTC(rule_array_count: long, rule_array, key_id_length: long, key_id);
    CSNDPKB(
        rule_array_count: long, rule_array, key_values_structure_length: long, key_values_structure,
        key_name_ln: long, key_name, customer_data_length: long, customer_data, reserved_2_length: long,
        reserved_2, reserved_3_length: long, reserved_3, reserved_4_length: long, reserved_4,
        reserved_5_length: long, reserved_5, token_length: long, token,
    );
    CSNDPKD(
        rule_array_count: long, rule_array, enciphered_key_length: long, enciphered_key,
        data_struct_length: long, data_struct, rsa_private_key_length: long, rsa_private_key,
        key_value_length: long, key_value,
    );
    CSNDPKE(
        rule_array_count: long, rule_array, key_value_length: long, key_value, data_struct_length: long,
        data_struct, rsa_public_key_length: long, rsa_public_key, rsa_encipher_length: long, rsa_encipher,
    );
    CSNDPKG(
        rule_array_count: long, rule_array, regeneration_data_length: long, regeneration_data,
        skeleton_key_token_length: long, skeleton_key_token, transport_key_identifier,
        generated_key_identifier_length: long, generated_key_identifier,
    );
    CSNDPKH(rule_array_count: long, rule_array, public_key_name, hash_data_length: long, hash_data);
    CSNDPKI(
        rule_array_count: long, rule_array, source_key_token_length: long, source_key_token,
        importer_key_identifier, target_key_identifier_length: long, target_key_identifier,
    );
    CSNDPKR(
        rule_array_count: long, rule_array, public_key_name, public_key_certificate_length: long,
        public_key_certificate,
    );
    CSNDPKT(
        rule_array_count: long, rule_array, source_key_identifier_length: long, source_key_identifier,
        source_transport_key_identifier_length: long, source_transport_key_identifier,
        target_transport_key_identifier_length: long, target_transport_key_identifier,
        target_key_token_length: long, target_key_token,
    );
    CSNDPKX(
        rule_array_count: long, rule_array, source_key_identifier_length: long, source_key_identifier,
        target_key_token_length: long, target_key_token,
    );
    CSNDRKD(rule_array_count: long, rule_array, key_label);
    CSNDRKL(
        rule_array_count: long, rule_array, key_label_mask, retained_keys_count: long,
        key_labels_count: long, key_labels,
    );
    CSNDRKX(
        rule_array_count: long, rule_array, trusted_block_length: long, trusted_block_identifier,
        certificate_length: long, certificate, certificate_parms_length: long, certificate_parms,
        transport_key_length: long, transport_key_identifier, rule_id_length: long, rule_id,
        export_key_kek_length: long, export_key_kek_identifier, export_key_length: long,
        export_key_identifier, asym_encrypted_key_length: long, asym_encrypted_key,
        sym_encrypted_key_length: long, sym_encrypted_key, extra_data_length: long, extra_data,
        key_check_parameters_length: long, key_check_parameters, key_check_length: long, key_check_value,
    );
    CSNDSBC(
        rule_array_count: long, rule_array, block_contents_identifier, x_data_string_length: long,
        x_data_string, data_to_encrypt_length: long, data_to_encrypt, data_to_hash_length: long,
        data_to_hash, initialization_vector, rsa_public_key_identifier_length: long,
        rsa_public_key_identifier, des_key_block_length: long, des_key_block, rsa_oaep_block_length: long,
        rsa_oaep_block, chaining_vector, des_encrypted_data_block,
    );
    CSNDSBD(
        rule_array_count: long, rule_array, rsa_oaep_block_length: long, rsa_oaep_block,
        des_encrypted_data_block_length: long, des_encrypted_data_block, initialization_vector,
        rsa_private_key_identifier_length: long, rsa_private_key_identifier, des_key_block_length: long,
        des_key_block, block_contents_identifier, x_data_string_length: long, x_data_string,
        chaining_vector, data_block, hash_block_length: long, hash_block,
    );
    CSNDSXD(
        rule_array_count: long, rule_array, source_key_length: long, source_key, data_length: long,
        data_offset: long, data, rsa_public_key_length: long, rsa_public_key, enciphered_key_length: long,
        enciphered_key,
    );
    CSNDSYG(
        rule_array_count: long, rule_array, key_encrypting_key, rsapub_key_length: long, rsapub_key,
        locenc_key_length: long, locenc_key, rsaenc_key_length: long, rsaenc_key,
    );
    CSNDSYI(
        rule_array_count: long, rule_array, rsa_enciphered_key_length: long, rsa_enciphered_key,
        rsa_private_key_identifier_len: long, rsa_private_key_identifier,
        target_key_identifier_length: long, target_key_identifier,
    );
    CSNDSYI2(
        rule_array_count: long, rule_array, rsa_enciphered_key_length: long, rsa_enciphered_key,
        rsa_private_key_identifier_length: long, rsa_private_key_identifier, user_mod_data_length: long,
        user_mod_data, target_key_identifier_length: long, target_key_identifier,
    );
    CSNDSYX(
        rule_array_count: long, rule_array, source_key_identifier_length: long, source_key_identifier,
        rsa_public_key_identifier_len: long, rsa_public_key_identifier, rsa_enciphered_key_length: long,
        rsa_enciphered_key,
    );
    CSNDTBC(
        rule_array_count: long, rule_array, input_block_length: long, input_block_identifier,
        transport_key_identifier, trusted_block_length: long, trusted_block_identifier,
    );
    CSUAACI(
        rule_array_count: long, rule_array, verb_data_1_length: long, verb_data_1, verb_data_2_length: long,
        verb_data_2,
    );
    CSUAACM(rule_array_count: long, rule_array, name, output_data_length: long, output_data);
    CSUACFC(rule_array_count: long, rule_array, verb_data_length: long, verb_data);
    CSUACFQ(rule_array_count: long, rule_array, verb_data_length: long, verb_data);
    CSUACFV(version_data_length: long, version_data) gives VERSION;
    CSUACIE(rule_array_count: long, rule_array, public_key_certificate_length: long, public_key_certificate);
    CSUACRA(rule_array_count: long, rule_array, resource_name_length: long, resource_name) does Allocate;
    CSUACRD(rule_array_count: long, rule_array, resource_name_length: long, resource_name) does Deallocate;
    CSUADHK(
        rule_array_count: long, rule_array, dhmodulus, dhgenerator, dhkey_part,
        transport_key_hash_length: long, transport_key_hash, dhmodulus_length: long, party_id, reserved1,
        reserved2,
    );
    CSUADHQ(
        rule_array_count: long, rule_array, dhmodulus, dhgenerator, dhkey_part,
        transport_key_hash_length: long, transport_key_hash, dhmodulus_length: long, party_id, reserved1,
        reserved2,
    );
    CSUAKIX(
        rule_array_count: long, rule_array, key_part, key_identifier, seskey_vp_length: long, seskey_vp,
        keypart_vp_length: long, keypart_vp,
    );
    CSUAKTX(
        rule_array_count: long, rule_array, key_data_length: long, key_data, secure_data_length: long,
        secure_data, key_data_vp_length: long, key_data_vp, session_key_vp_length: long, session_key_vp,
        xport_key_vp_length: long, xport_key_vp, xlt_key_data_length: long, xlt_key_data,
        xlt_secure_data_length: long, xlt_secure_data,
    );
    CSUALCT(
        rule_array_count: long, rule_array, user_id, auth_parm_length: long, auth_parm,
        auth_data_length: long, auth_data,
    );
    CSUALGQ(
        rule_array_count: long, rule_array, log_number: long, reserved0: long, log_data_length: long,
        log_data, reserved1_length: long, reserved1, reserved2_length: long, reserved2,
    );
    CSUAMKD(
        rule_array_count: long, rule_array, share_index: long, private_key_name, certifying_key_name,
        certificate_length: long, certificate, clone_info_encrypting_key_length: long,
        clone_info_encrypting_key, clone_info_length: long, clone_info,
    );
    CSUAMKX(
        rule_array_count: long, rule_array, key_part, seskey_vp_length: long, seskey_vp,
        keypart_vp_length: long, keypart_vp,
    );
    CSUAPCV(
        rule_array_count: long, rule_array, kek_key_identifier_length: long, kek_key_identifier,
        pcf_key_list_length: long, pcf_key_list, output_key_list_length: long, output_key_list,
    );
    CSUAPRB(
        rule_array_count: long, rule_array, source_length: long, source, out_file_name_length: long,
        out_file_name, reply_length: long, reply,
    );
    CSUARNT(rule_array_count: long, rule_array);
    CSUARNX(
        rule_array_count: long, rule_array, key_length: long, key, rnum_length: long, rnum,
        rnum_hash_length: long, rnum_hash, sk_hash_length: long, sk_hash, secdata_length: long, secdata,
        optdata_length: long, optdata,
    );
    CSUASKE(
        rule_array_count: long, rule_array, cert_in_length: long, cert_in, cert_out_length: long, cert_out,
        key_block_length: long, key_block, key_signature_length: long, key_signature, key_vp_length: long,
        key_vp, rnum_length: long, rnum,
    );
}
